"""How the cost of a batch grows: with view, batch, subgoals, and the views of a program.

python -m bench.growth [--quick] [--keep] [--fill] [--only AXIS] [--rounds N] [--seed N]
                       [--out FILE.json]
"""
