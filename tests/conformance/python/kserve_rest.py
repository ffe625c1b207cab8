"""KServe's own REST client, unchanged. Usage: kserve_rest.py http://HOST:PORT"""
import asyncio
import sys

import numpy as np
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig

from checks import check, run_all

URL = sys.argv[1]


def call(body):
    async def scope():
        return await body(InferenceRESTClient(RESTConfig(protocol="v2", verbose=False)))

    return asyncio.run(scope())


def request(binary):
    left = np.arange(16, dtype=np.int32).reshape(1, 16)
    inputs = []
    for name in ("INPUT0", "INPUT1"):
        made = InferInput(name=name, shape=[1, 16], datatype="INT32")
        made.set_data_from_numpy(left, binary_data=binary)
        inputs.append(made)
    return InferRequest(model_name="add-sub", infer_inputs=inputs)


@check
def health():
    """server live and ready, model ready"""
    assert call(lambda client: client.is_server_live(URL))
    assert call(lambda client: client.is_server_ready(URL))
    assert call(lambda client: client.is_model_ready(URL, "add-sub"))


@check
def infer():
    """infer in JSON and in binary"""
    for binary in (False, True):
        answer = call(lambda client: client.infer(URL, request(binary), model_name="add-sub"))
        outputs = {output.name: output.as_numpy() for output in answer.outputs}
        np.testing.assert_array_equal(outputs["OUTPUT0"].flatten(), np.arange(16) * 2)
        np.testing.assert_array_equal(outputs["OUTPUT1"].flatten(), np.zeros(16))


run_all()
