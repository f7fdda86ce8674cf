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
  strict comparison is gnomon at epsilon 1 against a peer at epsilon 0.5, where that was run. `exponential`,
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
  (it does not import with newer ones). OpenDP's MST first refused Adult, by a rounding fault in the split of its
  own budget; it is told a rho that is smaller by under 3e-5 of it, and runs. diffprivlib trains one model on
  the private rows (logistic or linear regression) and releases nothing else.
- **Tables.** Bounds are declared from what columns mean; counts of Buzz, BlogFeedback's target and KDD's
  bytes are logarithms; KDD's 23 labels are the contest's five classes; sports rows are split at random, so
  neighbours in time are on both sides, for all alike."""

CONCLUSIONS = """## What it shows

One run stands behind each figure: on Adult, three releases of one method differed by ± 0.02 to 0.05 in
AUROC (see [the compared methods](../baselines.md)), on tables of a hundred rows by far more, so a few
hundredths mean nothing.

- **Many columns, mostly numbers: the recommended release is first on three tables of five, level on a fourth.** At
  epsilon 1 `auto` takes PCA-Gauss on all of them: accuracy 0.90 on MNIST (next 0.83, real rows 0.95), R2 0.45 on
  BlogFeedback (next 0.16, real rows 0.38; another run gave 0.36), AUROC 0.76 on faces (next 0.71). On sports it is
  level with MODIPS (0.867 and, in another run, 0.877 against 0.871; no marginal tool or GAN was run on these, see the
  end). On Buzz it is behind RON-Gauss and MODIPS (R2 0.872 against 0.904 and 0.903, real rows 0.94; 0.871 and 0.875
  in two other runs): a second look at the directions that tell of the target is what it lacks there.
- **It is not first everywhere.** MODIPS, a Gaussian of all columns, is level or ahead on KDD 1999 (accuracy 0.987
  against 0.980) and Adult (AUROC 0.884 against 0.881), in less time. There, and on Buzz, the recommended release is
  dominated, by about what another run may change. On Dermatology (0.84 against 0.55, one run: the means of eight and of
  fifty splits are 0.68, by logistic regression and by a forest), HCC survival and Coimbra, DPRP is ahead of what
  `auto` takes, which is a model release always.
- **A narrow table of categories: marginal tools keep the distributions, not the classifier.** On Adult (15
  columns, 10 of them of few values), OpenDP's MST has a little over half of gnomon's error in one-way marginals (0.064
  against 0.110 of RON-Gauss and 0.136 of PCA-Gauss) and less in pairs (0.111 against 0.136), though its
  numbers come in 16 bins. A classifier trained on it reaches 0.83, on PCA-Gauss 0.88. `gnomon plan` says
  so: at most 20 released columns, more than half of them categories, booleans or whole numbers of at most
  16 values. The threshold rests on this one large table; on Caesarian (64 rows), which it also covers,
  everything is noise at epsilon 1.
- **GANs** keep little: on Adult, PATECTGAN reaches 0.61 and marginals that are 0.47 off; on Wisconsin it reaches
  0.71 and DPCTGAN is below chance, where PCA-Gauss reaches 0.99; on Indian liver patients 0.49 and 0.57 against
  0.71.
- **Speed.** No peer that releases rows is faster: MST took 93 CPU seconds and 1.9 GB on Adult, PCA-Gauss
  1.9 and 0.5 GB; 33 seconds against 0.1 on the 64 rows of Caesarian. OpenDP's AIM was stopped on Adult
  after 20 minutes by the clock, in which the busy machine gave it 356 seconds of processor time: less than
  ten minutes of its own.
- **One model trained directly** (diffprivlib) is fast, and worse than a model trained on what `auto`
  releases everywhere but on HCC survival; its linear regression is unusable at these budgets."""

NOT_RUN = """- **private-pgm's own AIM and MST**: `mbi` on the package index holds its estimator only, the mechanisms are
  scripts of its repository and cannot be installed. OpenDP's AIM and MST run on that estimator (mbi 1.1).
- **Marginal tools and GANs on the six wide tables** (MNIST, sports, faces, Buzz, BlogFeedback, KDD): no
  processor time was left on the shared machine. MST looks at every pair of columns: 105 on Adult, 1,035 on
  sports, 307,720 on MNIST; by 93 seconds for the first, the narrowest would take about a quarter of an
  hour. That is an estimate, not a run.
- **OpenDP's AIM** elsewhere: not run, as it did not finish on the 15 columns of Adult.
- **dpmm** (AIM, MST, PrivBayes): installs and works; on a made-up table of 2,000 rows and 6 columns it took
  137 to 273 seconds by the clock on the busy machine. Not run on these tables.
- **SmartNoise's GANs** on the tables without a figure: not run. Its AIM and MST: not run, the
  same algorithms.
- **Three trials on the small tables**: one was run.
- **Compared methods and epsilons without a figure** ("not run"): left out for time, epsilon 1 first."""
