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
  loaded, at epsilon 1; megabytes of PCA-Gauss are of runs of their own, since its others were measured together with
  the program that started them.
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

Most of gnomon's methods have three trials at epsilon 1, peers one; a second run of a peer on Adult (an earlier
one) differed by 0.014 to 0.05, and tables of a hundred rows have twenty to test on, so a few hundredths mean
nothing.

- **Many columns of numbers: the recommended release is first on all five tables, at every epsilon.** At epsilon 1
  `auto` takes PCA-Gauss on each: accuracy 0.890 ± 0.005 on MNIST (DPRP 0.849, MODIPS 0.834, Blocki 0.825, real rows
  0.947), 0.911 ± 0.007 on sports (RON-Gauss 0.873 ± 0.008, MODIPS 0.871 ± 0.002), AUROC 0.758 ± 0.011 on faces
  (RON-Gauss and DPRP 0.724), R2 0.925 ± 0.006 on Buzz (Blocki 0.909, MODIPS 0.898 ± 0.010, real rows 0.928), R2
  0.36 ± 0.06 on BlogFeedback (Blocki 0.17, real rows 0.38). The marginal tools that finished stay behind: on Buzz MST
  reaches 0.887 and PrivBayes 0.884, on sports 0.132 and 0.824. At epsilon 4: sports 0.926 (MODIPS 0.897, PrivBayes
  0.836), faces 0.797 ± 0.019 (RON-Gauss 0.744), Buzz 0.928 (MST 0.907); at 0.5 it is narrowest on faces (0.734 ±
  0.003, MODIPS 0.723) and Buzz (0.904 ± 0.007, Blocki 0.900).
- **KDD 1999 and Adult**, which are not such tables: on KDD at epsilon 1 RON-Gauss (0.990 ± 0.001) and MODIPS (0.989
  ± 0.001) are ahead of PCA-Gauss, which `auto` takes (0.988 ± 0.002), in a little less time; at epsilon 4 it is
  PCA-Gauss (0.991 ± 0.004, the others 0.989 and 0.990), at 0.5 RON-Gauss (0.989 against 0.988 ± 0.002). All of
  these lie within the range of trials. But its pairs of columns are sixteen times nearer to the real ones than
  theirs (0.018 against 0.29). On Adult PCA-Gauss is ahead at epsilon 0.5 (0.879, MODIPS 0.874) and 1 (0.887,
  MODIPS 0.877), and behind at 4 (0.885, MODIPS 0.892, RON-Gauss 0.891; the range of trials is up to ± 0.01).
- **Small tables**: the model that `auto` takes is near the best on Wisconsin, Indian liver patients and cervical
  risk at epsilon 1, and at chance where everything is (Coimbra, Caesarian, HCC survival: intervals of ± 0.1 to 0.2
  on about twenty test rows). At epsilon 0.5 it is far behind on cervical risk (0.53 ± 0.17, RON-Gauss 0.86 ± 0.12).
  DPRP is ahead on Dermatology (0.69 against 0.66 and, at epsilon 4, 0.95 against 0.88), and at epsilon 4 on HCC
  survival (0.80 against 0.60) and Caesarian (0.78 against 0.57); its constants were chosen with these tables in
  sight. Of the peers, single runs of MST (HCC survival 0.72, Caesarian 0.72, dpmm's on Dermatology 0.73), AIM
  (dpmm's on Coimbra 0.72 and Indian liver patients 0.73) and PATECTGAN (Caesarian 0.79) are ahead of what `auto`
  takes there at epsilon 1. On 300 rows of eight other tables neither DPRP nor PCA-Gauss leads.
- **One- and two-way counts** are no longer where marginal tools win by far, since PCA-Gauss counts columns
  itself where a table has the rows for it. Total variation of one column and of pairs at epsilon 1: on KDD
  0.011 and 0.018 (MST 0.151 and 0.036, PrivBayes 0.152 and 0.019), on sports 0.037 and 0.064 (PrivBayes 0.080 and
  0.080, MST 0.077 and 0.216), on Buzz 0.140 and 0.103 (MST 0.204 and 0.058, PrivBayes 0.232 and 0.151), on Adult
  0.027 and 0.062 (OpenDP's MST 0.062 and 0.109, PrivBayes 0.066 and 0.060). **dpmm's MST keeps pairs of Adult
  better** (0.062 and 0.049): 15 columns, 10 of them of few values; at epsilon 4 PrivBayes does too (0.049 against
  0.053). It is distributions that they keep, not the classifier: on Adult a model trained on any of the three reaches
  0.82, on PCA-Gauss 0.887; on KDD MST and PrivBayes have 0.96 against 0.988. `gnomon plan` says so for narrow tables:
  at most 20 released columns, more than half of them categories, booleans or whole numbers of at most 16 values. The
  threshold rests on Adult alone among the large tables. On the small tables marginal tools keep one- and two-way
  counts better (Dermatology 0.10 and 0.21 against 0.29 and 0.46).
- **GANs** keep little: PATECTGAN is at chance or below on MNIST (0.10), sports (0.11), faces (0.50), KDD
  (0.17), Buzz, BlogFeedback and near it on Adult (0.56), after 25 to 590 CPU seconds. At epsilon 4, where it trains for
  longer, it exceeds ten minutes on most large tables; it has 0.77 on Adult (0.885) and 0.82 on Buzz (0.928). On the
  small tables it is at chance at epsilon 0.5 and 1 but for single runs, and good on Wisconsin (0.99) and HCC survival
  (0.81) at epsilon 4.
- **Speed.** No peer that releases rows is within ten times: on Buzz 380 (MST) and 508 CPU seconds (PrivBayes)
  against 1.0; on sports 165 and 338 against 7; on KDD 255 and 476 against 16; on Adult 73 and 153 (MST) and 162
  (PrivBayes) against 3.6; both AIMs exceeded ten minutes there. MODIPS and RON-Gauss need 0.2 to 1.5 times the
  time of PCA-Gauss: of the large tables, the recommended release is dominated in time and score, within the range of
  trials, on KDD at epsilon 0.5 and 1 and on Adult at epsilon 4; never on the five tables of many numbers.
- **One model trained directly** (diffprivlib) is fast, level on KDD (0.983) and Indian liver patients (0.68),
  and worse than a model trained on what `auto` releases on the other tables of more than 150 rows; its linear
  regression is unusable at these budgets, and on MNIST its predictions are not numbers."""

NOT_RUN = """- **private-pgm's own AIM and MST**: `mbi` on the package index holds its estimator only, the mechanisms are
  scripts of its repository and cannot be installed. OpenDP's AIM and MST run on that estimator (mbi 1.1).
- **A peer that exceeded ten minutes of processor time, the clock's limit (twenty minutes or more) or 9 GB** is marked;
  it was not run at other epsilons, nor on tables with at least as many rows and columns. The clock stopped dpmm's MST
  with less than ten minutes of processor time on sports (243 seconds) and on cervical cancer risk, and PATECTGAN at
  epsilon 4 on faces and BlogFeedback.
- **Lines are of several runs of one day.** Those of PCA-Gauss are of its present code on every table that it counts
  columns of, those of other methods older where their code did not change."""
