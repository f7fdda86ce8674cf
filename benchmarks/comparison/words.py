"""The words of the page that are written by hand, after the figures."""

HOW = """Made by

    python benchmarks/peers/environments.py
    python benchmarks/compare.py run --data DIR
    python benchmarks/compare.py report

DATES, on a machine with two cores that others used too: **CPU seconds are the fair clock**, wall seconds
are up to four times as many. Each run is a process of its own with one thread, ten minutes and 9 GB. The
lines behind every figure are in [comparison/runs.jsonl](comparison/runs.jsonl).

- **Guarantee.** Every method gets the same (epsilon, delta). gnomon's is for *replacing* a record, that of
  the marginal tools and GANs for *adding or removing* one, which is weaker: an (epsilon, delta) promise of
  theirs is (2 epsilon, (1 + e^epsilon) delta) in gnomon's terms. So **the tables favour the peers**; the
  strict comparison is gnomon at epsilon 1 against a peer at epsilon 0.5. `exponential`,
  `bernoulli-identity` and diffprivlib are run at delta = 0, which is stronger than asked.
- **Scores.** A model is trained on at most 5,000 released rows and tested on at most 3,000 held-out real
  rows (seen through the release's public map where it has one): logistic regression and a random forest, or
  ridge and kernel ridge (2,000 rows); the better of the two is shown, for every method alike. AUROC is one
  class against the rest, weighted by the classes' shares. TV is the mean total variation of one-way
  marginals (20 bins) and of 200 pairs (8 x 8 bins); releases of components have none.
- **Cost.** Seconds and megabytes are those of fitting and drawing as many rows as the table has, libraries
  loaded, at epsilon 1.
- **Peers.** Numbers are cut into 16 bins between the same declared bounds for them, and drawn uniformly
  within a bin on the way back; categories are declared, so that nothing is spent on finding them. Otherwise
  their defaults (AIM: pairs of columns; a GAN's batch is 500 rows, or half of a smaller table). OpenDP 0.16
  with mbi 1.1, dpmm 0.1.9, smartnoise-synth 1.0.8 with torch 2.15, diffprivlib 0.6.6 with scikit-learn 1.5
  (it does not import with newer ones). diffprivlib trains one model on the private rows (logistic or linear
  regression) and releases nothing else.
- **Tables.** Bounds are declared from what columns mean; counts of Buzz, BlogFeedback's target and KDD's
  bytes are logarithms; KDD's 23 labels are the contest's five classes; sports rows are split at random, so
  neighbours in time are on both sides, for all alike."""

CONCLUSIONS = """## What it shows"""

NOT_RUN = """- private-pgm's own AIM and MST: `mbi` on the package index holds its estimator only, the mechanisms are
  scripts of its repository and cannot be installed. OpenDP's AIM and MST run on that estimator."""
