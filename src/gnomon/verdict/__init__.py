"""How good each column, each class and the relation to the target of a release are: predicted, and stated afterwards."""
