"""Calls until the server is gone, and counts calls that it took and did not answer. Usage: grpc_drain.py HOST:PORT

Prints a line when calls are under way: that is when the server is told to stop.
"""
import json
import sys
import threading

import grpc
import numpy as np
from tritonclient.grpc import service_pb2, service_pb2_grpc

from checks import check, run_all

URL = sys.argv[1]
THREADS = 4


def request():
    made = service_pb2.ModelInferRequest(model_name="sequence-slow")
    made.inputs.add(name="iterations", datatype="INT64", shape=[1, 1])
    made.raw_input_contents.append(np.full((1, 1), 20, dtype=np.int64).tobytes())
    return made


@check
def drain():
    """a server that stops answers every call that it took"""
    answered, failed = [], []
    under_way = threading.Event()

    def call_until_gone():
        with grpc.insecure_channel(URL, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            while True:
                try:
                    stub.ModelInfer(request(), timeout=30)
                    answered.append(1)
                    if len(answered) > 20:
                        under_way.set()
                except grpc.RpcError as error:
                    # Nobody listens any more: the call never left.
                    if "onnect" not in error.details() or error.code() != grpc.StatusCode.UNAVAILABLE:
                        failed.append(f"{error.code()}: {error.details()}")
                    return

    threads = [threading.Thread(target=call_until_gone) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    assert under_way.wait(60), failed
    print(json.dumps({"check": "under way", "ok": True}), flush=True)
    for thread in threads:
        thread.join(60)
    assert not failed, failed
    assert len(answered) > 20


run_all()
