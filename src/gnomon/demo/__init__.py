"""A release of scikit-learn's breast cancer table, from real files to a real folder: python -m gnomon.demo"""
