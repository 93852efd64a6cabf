"""A Ray cluster of a head and two more nodes with a CPU each, on one machine.

Prints its address; "kill" on standard input ends a node as a power failure would.
"""

import sys

from ray.cluster_utils import Cluster

if __name__ == "__main__":
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    print(cluster.address, flush=True)
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(nodes.pop(), allow_graceful=False)
            print("killed", flush=True)
    cluster.shutdown()
