"""How many tokens one forward pass takes: what the user said, or what the device was fastest with on its first passes.

More tokens keep a device busier, until the attention between branches that do not see each other outweighs that.
"""

from __future__ import annotations

# By device: sizes to try, the largest first, so that what a pass of any size may show is seen at once.
_TRIALS = {"cpu": (512, 256, 128), "cuda": (8192, 4096, 2048), "mps": (4096, 2048, 1024)}
_USUAL = {"cpu": 256, "cuda": 4096, "mps": 2048}
# Machines are noisy: only what is faster by this factor displaces the usual size.
_CLEARLY = 1.1
# With fewer passes of the usual size than these, a better one saves too little to look for it.
_WORTH_PASSES = 8


class PassSize:
    """The most tokens of a pass, chosen by whoever scores from the passes that it makes anyway."""

    def __init__(self, wanted: int | None, device: str) -> None:
        self._usual = _USUAL.get(device, _USUAL["cpu"])
        self._trials = list(_TRIALS.get(device, _TRIALS["cpu"])) if wanted is None else []
        self._rates: dict[int, float] = {}
        self.tokens = self._usual if wanted is None else wanted

    def next_trial(self, passes: int) -> int | None:
        """The size to try next, given how many passes of the usual size there are to make; None: none."""
        return self._trials[0] if self._trials and passes >= _WORTH_PASSES else None

    def tried(self, size: int, tokens: int, seconds: float) -> None:
        """A pass of `tokens` tokens, of the largest that fit `size`, took these seconds."""
        self._rates[size] = max(self._rates.get(size, 0.0), tokens / max(seconds, 1e-9))

    def end_trial(self, size: int) -> None:
        """Enough of this size; after the last one the fastest is chosen."""
        self._trials.remove(size)
        if not self._trials:
            best = max(self._rates, key=lambda size: self._rates[size])
            if self._rates[best] > _CLEARLY * self._rates.get(self._usual, 0.0):
                self.tokens = best

    def cut(self) -> None:
        """The device ran out of memory: half of what was to be, or was tried, and no further trials."""
        self.tokens = max(1, (self._trials[0] if self._trials else self.tokens) // 2)
        self._trials = []
