"""tritonclient.http.aio, unchanged. Usage: triton_aio.py HOST:PORT"""
import asyncio
import sys

import numpy as np
import tritonclient.http.aio as http
from tritonclient.utils import InferenceServerException

from checks import check, raises, run_all

URL = sys.argv[1]


def tensor(name, array, kind):
    made = http.InferInput(name, list(array.shape), kind)
    made.set_data_from_numpy(array)
    return made


async def with_client(body):
    client = http.InferenceServerClient(URL)
    try:
        return await body(client)
    finally:
        await client.close()


@check
def health():
    """live, ready, metadata and statistics"""

    async def body(client):
        assert await client.is_server_live() and await client.is_server_ready()
        assert (await client.get_model_metadata("add-sub"))["name"] == "add-sub"
        assert (await client.get_inference_statistics())["model_stats"]
        assert await client.get_model_repository_index()

    asyncio.run(with_client(body))


@check
def concurrent():
    """60 concurrent calls, none mixed up, answers not compressed unless asked for"""

    async def one(client, number):
        left = np.full((1, 16), number, dtype=np.int32)
        result = await client.infer("add-sub", [tensor("INPUT0", left, "INT32"), tensor("INPUT1", left, "INT32")])
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), np.full((1, 16), 2 * number))

    async def body(client):
        await asyncio.gather(*(one(client, number) for number in range(60)))

    asyncio.run(with_client(body))


@check
def errors():
    """an error is an InferenceServerException with the server's words"""

    async def body(client):
        left = np.zeros((1, 16), dtype=np.int32)
        await client.infer("nothing-here", [tensor("INPUT0", left, "INT32")])

    raises(InferenceServerException, lambda: asyncio.run(with_client(body)), "nothing-here")


run_all()
