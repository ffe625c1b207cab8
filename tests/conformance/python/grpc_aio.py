"""tritonclient.grpc.aio, unchanged. Usage: grpc_aio.py HOST:PORT"""
import asyncio
import sys

import numpy as np
import tritonclient.grpc.aio as client_module
from tritonclient.utils import InferenceServerException

from checks import check, raises, run_all

URL = sys.argv[1]


def inputs(number):
    array = np.full((1, 16), number, dtype=np.int32)
    made = [client_module.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
    for one in made:
        one.set_data_from_numpy(array)
    return made


def with_client(body):
    async def run():
        async with client_module.InferenceServerClient(URL) as client:
            return await body(client)

    return asyncio.run(run())


@check
def health():
    """live, ready, metadata and statistics"""

    async def body(client):
        assert await client.is_server_live() and await client.is_server_ready()
        assert (await client.get_model_metadata("add-sub")).name == "add-sub"
        assert (await client.get_inference_statistics()).model_stats
        assert (await client.get_model_repository_index()).models

    with_client(body)


@check
def concurrent():
    """100 concurrent calls on one connection, none mixed up"""

    async def one(client, number):
        result = await client.infer("add-sub", inputs(number))
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), np.full((1, 16), 2 * number))

    async def body(client):
        await asyncio.gather(*(one(client, number) for number in range(100)))

    with_client(body)


@check
def streaming():
    """stream_infer answers each request, errors included, and the stream stays open"""

    async def body(client):
        async def requests():
            for number in range(30):
                model = "nothing-here" if number == 10 else "add-sub"
                yield {"model_name": model, "inputs": inputs(number), "request_id": str(number)}

        good, bad = set(), []
        async for result, error in client.stream_infer(requests()):
            if error is not None:
                bad.append(str(error))
                continue
            number = int(result.get_response().id)
            np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), np.full((1, 16), 2 * number))
            good.add(number)
        assert good == set(range(30)) - {10}, good
        assert len(bad) == 1 and "nothing-here" in bad[0], bad

    with_client(body)


@check
def cancellation():
    """a cancelled call and a cancelled stream leave the connection usable"""

    async def body(client):
        call = asyncio.ensure_future(client.infer("add-sub", inputs(1)))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

        async def endless():
            while True:
                yield {"model_name": "add-sub", "inputs": inputs(2)}
                await asyncio.sleep(0)

        stream = client.stream_infer(endless())
        seen = 0
        async for _, error in stream:
            assert error is None, error
            seen += 1
            if seen == 20:
                stream.cancel()
                break
        result = await client.infer("add-sub", inputs(3))
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), np.full((1, 16), 6))

    with_client(body)


@check
def errors():
    """an error is an InferenceServerException with the server's words"""

    async def body(client):
        await client.infer("nothing-here", inputs(0))

    raises(InferenceServerException, lambda: with_client(body), "nothing-here", "NOT_FOUND")


run_all()
