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

Most of gnomon's methods have three trials at epsilon 1, peers one; a second run of a peer on Adult (an earlier
one) differed by 0.014 to 0.05, and tables of a hundred rows have twenty to test on, so a few hundredths mean
nothing.

- **Many columns of numbers: the recommended release is first on all five tables.** At epsilon 1 `auto` takes
  PCA-Gauss on each: accuracy 0.897 on MNIST (DPRP 0.849, MODIPS 0.834, Blocki 0.825, real rows 0.947), 0.901 ±
  0.006 on sports (RON-Gauss 0.873 ± 0.008, MODIPS 0.871 ± 0.002), AUROC 0.758 ± 0.011 on faces (RON-Gauss and
  DPRP 0.724), R2 0.924 ± 0.004 on Buzz (Blocki 0.909, MODIPS 0.898 ± 0.010, real rows 0.928), R2 0.36 ± 0.06 on
  BlogFeedback (Blocki 0.17, real rows 0.38). The marginal tools that finished stay behind: on Buzz MST reaches
  0.887 and PrivBayes 0.884, on sports 0.132 and 0.824. The same at epsilon 4 (sports 0.927, MODIPS 0.897).
- **KDD 1999 is the exception among the large tables**: RON-Gauss (0.990 ± 0.001) and MODIPS (0.989 ± 0.001) are
  ahead of PCA-Gauss, which `auto` takes (0.985 ± 0.002), in a little less time. Accuracy there does not grow with
  epsilon: it is the model, not the noise. But its pairs of columns are twelve times nearer to the real ones than
  theirs (0.023 against 0.29). On Adult PCA-Gauss has 0.881 ± 0.009 at epsilon 1 (MODIPS 0.877, RON-Gauss 0.871);
  at epsilon 4 those two are ahead (0.892 ± 0.006 and 0.891 ± 0.002 against 0.881 ± 0.007), at epsilon 0.5
  MODIPS (0.874 against 0.870 ± 0.006).
- **Small tables**: the model that `auto` takes is at or near the best on Wisconsin, Indian liver patients and
  cervical risk, and at chance where everything is (Coimbra, Caesarian, HCC survival at epsilon 1: intervals of
  ± 0.1 to 0.2 on about twenty test rows). DPRP is ahead on Dermatology, and at epsilon 4 on HCC survival (0.80)
  and Caesarian (0.78); its constants were chosen with these tables in sight. Of the peers, single runs of MST
  (HCC survival 0.72, Caesarian 0.72, dpmm's on Dermatology 0.73), AIM (dpmm's on Coimbra 0.72 and Indian liver
  patients 0.73) and PATECTGAN (Caesarian 0.79) are ahead there. On 300 rows of eight other tables neither DPRP
  nor PCA-Gauss leads.
- **One- and two-way counts** are no longer where marginal tools win by far, since PCA-Gauss counts columns
  itself where a table has the rows for it. Total variation of one column and of pairs at epsilon 1: on KDD
  0.016 and 0.023 (MST 0.151 and 0.036, PrivBayes 0.152 and 0.019), on sports 0.040 and 0.072 (PrivBayes 0.080 and
  0.080, MST 0.077 and 0.216), on Buzz 0.142 and 0.110 (MST 0.204 and 0.058, PrivBayes 0.232 and 0.151), on Adult
  0.050 and 0.076 (OpenDP's MST 0.062 and 0.109). **dpmm's MST and PrivBayes keep pairs of Adult better** (0.049
  and 0.060): 15 columns, 10 of them of few values. It is distributions that they keep, not the classifier: on
  Adult a model trained on any of the three reaches 0.82, on PCA-Gauss 0.881; on KDD MST and PrivBayes have 0.96
  against 0.985. `gnomon plan` says so for narrow tables: at most 20 released columns, more than half of them
  categories, booleans or whole numbers of at most 16 values. The threshold rests on Adult alone among the
  large tables. On the small tables marginal tools keep one- and two-way counts better (Dermatology 0.10 and
  0.21 against 0.29 and 0.45).
- **GANs** keep little: PATECTGAN is at chance or below on MNIST (0.10), sports (0.11), faces (0.50), KDD
  (0.17), Buzz, BlogFeedback and near it on Adult (0.56), after 25 to 590 CPU seconds. On the small tables it is
  at chance at epsilon 0.5 and 1 but for single runs, and good on Wisconsin (0.99) and HCC survival (0.81) at
  epsilon 4.
- **Speed.** No peer that releases rows is within ten times: on Buzz 380 (MST) and 508 CPU seconds (PrivBayes)
  against 0.9; on sports 165 and 338 against 5.6; on KDD 255 and 476 against 18; on Adult 73 and 153 (MST) and 162
  (PrivBayes) against 3.0; both AIMs exceeded ten minutes there. MODIPS and RON-Gauss need 0.2 to 1.5 times the
  time of PCA-Gauss: of the large tables, the recommended release is dominated in time and score on KDD, and
  by MODIPS on Adult at epsilon 0.5 and 4.
- **One model trained directly** (diffprivlib) is fast, level on KDD (0.983) and Indian liver patients (0.68),
  and worse than a model trained on what `auto` releases on the other tables of more than 150 rows; its linear
  regression is unusable at these budgets."""

NOT_RUN = """- **private-pgm's own AIM and MST**: `mbi` on the package index holds its estimator only, the mechanisms are
  scripts of its repository and cannot be installed. OpenDP's AIM and MST run on that estimator (mbi 1.1).
- **A peer that exceeded ten minutes of processor time, twenty by the clock or 9 GB** is marked; it was not run
  at other epsilons, nor on tables with at least as many rows and columns. The clock stopped dpmm's MST with less
  than ten minutes of processor time on sports (243 seconds) and on cervical cancer risk.
- **Marked "not run"**: left out for time, on a machine with two cores: the slow peers at epsilon 0.5 and 4 on most
  tables. Lines of DPRP, Blocki and `exponential` on KDD, and of RON-Gauss and MODIPS there at epsilon 0.5 and 4, were
  run before categories reached their shares."""
