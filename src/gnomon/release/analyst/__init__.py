"""What an analyst asks of a release folder: distances, neighbours, clusters, counts, tables, and rows drawn again."""
