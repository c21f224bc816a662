"""Programs that take credentials in places of their own, which no name announces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_NONE: Mapping[str, str] = MappingProxyType({})


class Habit(NamedTuple):
    """Where one program has credentials."""

    verbs: frozenset[str] = frozenset()
    """It holds once one of these words has come; none: from the start."""
    values: frozenset[str] = frozenset()
    """Options whose value is a credential."""
    glued: tuple[str, ...] = ()
    """Options with which a credential is written together."""
    pairs: Mapping[str, str] = _NONE
    """Options with a user and a password, and what stands between the two."""
    positional_from: int | None = None
    """Words after the verb that are no options are credentials, from this one on."""
    named: bool = False
    """A word that is the name of a credential comes before it."""


def _habit(
    verbs: str = "",
    values: str = "",
    *,
    glued: str = "",
    pairs: Mapping[str, str] = _NONE,
    positional_from: int | None = None,
    named: bool = False,
) -> Habit:
    return Habit(
        verbs=frozenset(verbs.split()),
        values=frozenset(values.split()),
        glued=tuple(glued.split()),
        pairs=MappingProxyType(dict(pairs)),
        positional_from=positional_from,
        named=named,
    )


_CURL = dict.fromkeys(("-u", "--user", "-U", "--proxy-user"), ":") | {"-b": "=", "--cookie": "="}
_LOGIN_P = (_habit("login", "-p", glued="-p"),)
_MYSQL = (_habit(glued="-p"),)
_UPPER_P = (_habit(values="-P", glued="-P"),)
_LOWER_P = (_habit(values="-p", glued="-p"),)
_LDAP = (_habit(values="-w", glued="-w"),)
_SMB = (_habit(pairs={"-U": "%", "--user": "%"}),)
_HTTPIE = (_habit(pairs={"-a": ":", "--auth": ":"}),)
_KUBECTL = (_habit("secret secrets", pairs={"--from-literal": "="}),)

HABITS: Mapping[str, tuple[Habit, ...]] = MappingProxyType(
    dict.fromkeys(
        (
            "docker",
            "podman",
            "nerdctl",
            "buildah",
            "skopeo",
            "oras",
            "helm",
            "crane",
            "apptainer",
            "singularity",
            "az",
            "regctl",
        ),
        _LOGIN_P,
    )
    | dict.fromkeys(
        ("mysql", "mysqldump", "mariadb", "mariadb-dump", "mysqlimport", "mycli"), _MYSQL
    )
    | dict.fromkeys(("zip", "unzip", "zipcloak", "sqlcmd", "bcp", "ipmitool"), _UPPER_P)
    | dict.fromkeys(("mosquitto_pub", "mosquitto_sub", "ipmiutil"), _UPPER_P)
    | dict.fromkeys(
        ("sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "7z", "7za"), _LOWER_P
    )
    | dict.fromkeys(
        ("cqlsh", "beeline", "twine", "racadm", "yt-dlp", "youtube-dl", "rar"), _LOWER_P
    )
    | dict.fromkeys(("ldapsearch", "ldapmodify", "ldapadd", "ldapwhoami", "ldapdelete"), _LDAP)
    | dict.fromkeys(("smbclient", "rpcclient", "smbget"), _SMB)
    | dict.fromkeys(("http", "xh"), _HTTPIE)
    | dict.fromkeys(("kubectl", "oc", "k3s", "microk8s"), _KUBECTL)
    | {
        "curl": (_habit(pairs=_CURL),),
        "etcdctl": (_habit(pairs=_CURL),),
        "lftp": (_habit(pairs={"-u": ",", "--user": ","}),),
        "redis-cli": (_habit(values="-a", glued="-a"), _habit("auth AUTH", positional_from=0)),
        "mysqladmin": (*_MYSQL, _habit("password", positional_from=0)),
        "openssl": (_habit("enc", "-k -K"), _habit("passwd", positional_from=0)),
        "wandb": (_habit("login", positional_from=0),),
        "vault": (_habit("login", positional_from=0),),
        "ngrok": (_habit("authtoken add-authtoken", positional_from=0),),
        "rclone": (_habit("obscure", positional_from=0), _habit("config", named=True)),
        "bw": (_habit("login", positional_from=1), _habit("unlock", positional_from=0)),
        "b2": (_habit("authorize-account authorize", positional_from=1),),
        "mc": (_habit("set", positional_from=2),),
        "htpasswd": (
            _habit("-b -cb -bc -bB -cbB", positional_from=2),
            _habit("-nb -bn -nbB -bnB", positional_from=1),
        ),
        "rabbitmqctl": (_habit("add_user change_password", positional_from=1),),
        "wpa_passphrase": (_habit(positional_from=1),),
        "glab": (_habit("login", "-t"),),
        "doctl": (_habit(values="-t"),),
        "flyctl": (_habit(values="-t"),),
        "gh": (_habit("secret", "-b --body"),),
        "poetry": (_habit("config", positional_from=2, named=True), _habit("publish", "-p")),
        "ssh-keygen": (_habit(values="-N -P"),),
        "aws": (_habit("configure", named=True),),
        "dvc": (_habit("remote", named=True),),
        "git": (_habit("config", named=True),),
        "npm": (_habit("config set", named=True),),
        "nmcli": (_habit("connect", named=True),),
        "xfreerdp": (_habit(glued="/p:"),),
    }
)

AMBIGUOUS = frozenset(
    {"http", "az", "oc", "mc", "gh", "b2", "bw", "rar", "xh", "7z", "zip", "git", "vault"}
)
"""Words that are also said of other things: programs only where a command begins."""
WRAPPERS = frozenset(
    {
        "sudo",
        "doas",
        "env",
        "nohup",
        "nice",
        "ionice",
        "time",
        "timeout",
        "setsid",
        "stdbuf",
        "exec",
    }
    | {"xargs", "command", "unbuffer", "proxychains", "torsocks", "watch", "do", "then", "else"}
)
"""After these a command begins still."""
