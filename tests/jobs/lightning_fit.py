"""Lightning: a sanity check, accumulation over two batches, a validation in each of two epochs."""

import logging
import warnings

import lightning
from padded import SGD, Data, Model
from torch.utils.data import DataLoader

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Module(lightning.LightningModule):
    """Its steps call a module inside it, never itself."""

    def __init__(self):
        super().__init__()
        self.model = Model()

    def training_step(self, batch, _):
        return (self.model(batch[0]) - batch[1]).pow(2).mean()

    def validation_step(self, batch, _):
        self.log("loss", (self.model(batch[0]) - batch[1]).pow(2).mean())

    def configure_optimizers(self):
        return SGD(self.parameters(), lr=0.01)


lightning.Trainer(
    max_epochs=2,
    accumulate_grad_batches=2,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
).fit(Module(), DataLoader(Data(10), batch_size=1), DataLoader(Data(3, "eval"), batch_size=1))
