"""Loader workers, forked and spawned, and copies of a model that the probe has seen."""

import copy
import os
import pickle
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset


def pages(_worker=None):
    names = os.listdir(os.environ["XDG_RUNTIME_DIR"] + "/gputop")
    return len([name for name in names if name.endswith(".page")])


def main():
    data = TensorDataset(torch.ones(32, 4))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for context in ("fork", "spawn"):
        for (inputs,) in DataLoader(
            data, batch_size=4, num_workers=2, multiprocessing_context=context
        ):
            model(inputs).sum().backward()
            optimizer.step()
        print(context, pages())
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again(torch.ones(1, 4)).shape == (1, 1)
        print(sorted(set(vars(again)) - set(vars(torch.nn.Linear(4, 1)))))
    torch.jit.script(model)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
