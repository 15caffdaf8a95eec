#!/usr/bin/env bash
# test_loss.sh with every loss that is beyond a scheme, too: all 2^8 sets of nodes for each.
SWEEP=all exec "$(dirname "${BASH_SOURCE[0]}")/test_loss.sh"
