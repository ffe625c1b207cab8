"""KServe's own gRPC client, unchanged. Usage: grpc_kserve.py HOST:PORT"""
import asyncio
import sys

import numpy as np
from kserve import InferenceGRPCClient, InferInput, InferRequest

from checks import check, run_all

URL = sys.argv[1]


def call(body):
    async def scope():
        async with InferenceGRPCClient(url=URL) as client:
            return await body(client)

    return asyncio.run(scope())


def request(binary):
    left = np.arange(16, dtype=np.int32).reshape(1, 16)
    inputs = []
    for name in ("INPUT0", "INPUT1"):
        made = InferInput(name=name, shape=[1, 16], datatype="INT32")
        made.set_data_from_numpy(left, binary_data=binary)
        inputs.append(made)
    return InferRequest(model_name="add-sub", infer_inputs=inputs, request_id="k-1")


@check
def health():
    """server live and ready, model ready"""
    assert call(lambda client: client.is_server_live())
    assert call(lambda client: client.is_server_ready())
    assert call(lambda client: client.is_model_ready("add-sub"))


@check
def infer():
    """infer with typed and with raw contents"""
    for binary in (False, True):
        answer = call(lambda client: client.infer(request(binary)))
        outputs = {output.name: output.as_numpy() for output in answer.outputs}
        np.testing.assert_array_equal(outputs["OUTPUT0"].flatten(), np.arange(16) * 2)
        np.testing.assert_array_equal(outputs["OUTPUT1"].flatten(), np.zeros(16))
        assert answer.id == "k-1"


run_all()
