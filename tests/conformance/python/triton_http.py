"""tritonclient.http, unchanged, against the V2 REST face. Usage: triton_http.py HOST:PORT"""
import sys

import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from checks import check, raises, run_all

URL = sys.argv[1]
client = http.InferenceServerClient(URL, concurrency=4)


def tensor(name, array, binary=True):
    made = http.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    made.set_data_from_numpy(array, binary_data=binary)
    return made


def add_sub_inputs(rows, binary):
    left = np.arange(rows * 16, dtype=np.int32).reshape(rows, 16)
    right = np.full((rows, 16), 3, dtype=np.int32)
    return left, right, [tensor("INPUT0", left, binary), tensor("INPUT1", right, binary)]


@check
def health():
    """server and models report live and ready"""
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("add-sub")
    assert client.is_model_ready("add-sub", "1")
    assert not client.is_model_ready("no-such-model")


@check
def metadata():
    """server and model metadata have the fields that clients read"""
    server = client.get_server_metadata()
    assert server["name"] and server["version"] and "binary_tensor_data" in server["extensions"]
    model = client.get_model_metadata("add-sub")
    assert model["name"] == "add-sub" and model["versions"] == ["1"]
    assert {i["name"] for i in model["inputs"]} == {"INPUT0", "INPUT1"}
    assert model["inputs"][0]["datatype"] == "INT32" and model["inputs"][0]["shape"] == [-1, 16]
    config = client.get_model_config("add-sub")
    assert config["max_batch_size"] >= 1 and config["input"] and config["output"]


@check
def binary_and_json():
    """add-sub answers alike in binary and JSON, in and out"""
    for rows in (1, 2, 7):
        for binary_in in (True, False):
            for binary_out in (True, False):
                left, right, inputs = add_sub_inputs(rows, binary_in)
                outputs = [
                    http.InferRequestedOutput("OUTPUT0", binary_data=binary_out),
                    http.InferRequestedOutput("OUTPUT1", binary_data=not binary_out),
                ]
                result = client.infer("add-sub", inputs, outputs=outputs, request_id="r-1")
                np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), left + right)
                np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), left - right)
                assert result.get_response()["id"] == "r-1"


@check
def mixed_inputs():
    """one input in JSON and one in binary in the same request"""
    left, right, _ = add_sub_inputs(2, True)
    result = client.infer("add-sub", [tensor("INPUT0", left, False), tensor("INPUT1", right, True)])
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), left + right)


@check
def requested_outputs():
    """only the requested output comes back; none requested means all"""
    _, _, inputs = add_sub_inputs(1, True)
    one = client.infer("add-sub", inputs, outputs=[http.InferRequestedOutput("OUTPUT1")])
    assert one.as_numpy("OUTPUT0") is None and one.as_numpy("OUTPUT1") is not None
    both = client.infer("add-sub", inputs)
    assert both.as_numpy("OUTPUT0") is not None and both.as_numpy("OUTPUT1") is not None


@check
def large_row_counts():
    """a request with more rows than a batch takes is split and put together again"""
    left, right, inputs = add_sub_inputs(500, True)
    result = client.infer("add-sub", inputs)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), left + right)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), left - right)


@check
def compression():
    """gzip and deflate, in and out"""
    left, right, inputs = add_sub_inputs(64, True)
    for request in (None, "gzip", "deflate"):
        for response in (None, "gzip", "deflate"):
            result = client.infer(
                "add-sub",
                inputs,
                request_compression_algorithm=request,
                response_compression_algorithm=response,
            )
            np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), left + right)


ARRAYS = {
    "in_bool": np.array([[True, False, True]]),
    "in_uint8": np.array([[0, 1, 255]], dtype=np.uint8),
    "in_int8": np.array([[-128, 0, 127]], dtype=np.int8),
    "in_uint16": np.array([[0, 1, 65535]], dtype=np.uint16),
    "in_int16": np.array([[-32768, 0, 32767]], dtype=np.int16),
    "in_uint32": np.array([[0, 1, 2**32 - 1]], dtype=np.uint32),
    "in_int32": np.array([[-(2**31), 0, 2**31 - 1]], dtype=np.int32),
    "in_uint64": np.array([[0, 2**53 + 1, 2**64 - 1]], dtype=np.uint64),
    "in_int64": np.array([[-(2**63), 2**53 + 1, 2**63 - 1]], dtype=np.int64),
    "in_fp16": np.array([[0.5, -2.0, 65504.0]], dtype=np.float16),
    "in_fp32": np.array([[0.1, -0.0, 3.4e38]], dtype=np.float32),
    "in_fp64": np.array([[0.1, -1e-300, 1.7e308]], dtype=np.float64),
    "in_string": np.array([[b"plain", "grüße 日本".encode(), b""]], dtype=np.object_),
}


@check
def every_datatype_binary():
    """every datatype survives unchanged in binary"""
    result = client.infer("all-types", [tensor(name, array) for name, array in ARRAYS.items()])
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(result.as_numpy(name.replace("in_", "out_")), array)


@check
def every_datatype_json():
    """every datatype but FP16 survives in JSON, 64-bit integers above 2^53 included"""
    inputs = [tensor(name, array, binary=name == "in_fp16") for name, array in ARRAYS.items()]
    outputs = [
        http.InferRequestedOutput(name.replace("in_", "out_"), binary_data=name == "in_fp16") for name in ARRAYS
    ]
    result = client.infer("all-types", inputs, outputs=outputs)
    for name, array in ARRAYS.items():
        got = result.as_numpy(name.replace("in_", "out_"))
        if name == "in_string":
            assert [value.decode() if isinstance(value, bytes) else value for value in got.flatten()] == [
                value.decode() for value in array.flatten()
            ]
        else:
            np.testing.assert_array_equal(got, array)


@check
def fp16_in_json_is_refused():
    """FP16 asked for in JSON is refused with the protocol's words"""
    raises(
        InferenceServerException,
        lambda: client.infer(
            "all-types",
            [tensor(name, array) for name, array in ARRAYS.items()],
            outputs=[http.InferRequestedOutput("out_fp16", binary_data=False)],
        ),
        "FP16",
    )


@check
def strings():
    """BYTES of any length, empty strings and unicode come back"""
    array = np.array([[b"", b"a" * 70000, "žluťoučký".encode()]], dtype=np.object_)
    result = client.infer("string-echo", [tensor("INPUT0", array)])
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)


@check
def zero_shapes():
    """a shape with 0 gives an empty array of the same shape"""
    for shape in ((0, 4), (1, 0), (0, 0)):
        array = np.zeros(shape, dtype=np.float32)
        result = client.infer("identity-fp32", [tensor("INPUT0", array)])
        assert result.as_numpy("OUTPUT0").shape == shape, result.as_numpy("OUTPUT0").shape


@check
def special_floats():
    """NaN, infinities and signed zero pass bit for bit in binary and as NaN/Infinity in JSON"""
    array = np.array([[np.nan, np.inf, -np.inf, -0.0, 1e-45]], dtype=np.float32)
    for binary in (True, False):
        result = client.infer(
            "identity-fp32",
            [tensor("INPUT0", array, binary)],
            outputs=[http.InferRequestedOutput("OUTPUT0", binary_data=binary)],
        )
        got = result.as_numpy("OUTPUT0")
        np.testing.assert_array_equal(got, array)
        assert np.signbit(got[0, 3])


@check
def big_inputs():
    """a 40 MB tensor passes"""
    array = np.random.default_rng(7).random((10, 1_000_000), dtype=np.float32)
    result = client.infer("identity-fp32", [tensor("INPUT0", array)])
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), array)


@check
def classification():
    """the classification extension gives value:index strings"""
    row = np.zeros((2, 64), dtype=np.float32)
    result = client.infer(
        "digits-mlp",
        [tensor("pixels", row)],
        outputs=[http.InferRequestedOutput("probabilities", class_count=3)],
    )
    got = result.as_numpy("probabilities")
    assert got.shape == (2, 3), got.shape
    value, index, *label = got[0][0].decode().split(":")
    assert 0 <= float(value) <= 1 and 0 <= int(index) <= 9


@check
def asynchronous():
    """async_infer: 40 requests at once, none mixed up"""
    pending = []
    for number in range(40):
        left = np.full((1, 16), number, dtype=np.int32)
        pending.append(
            (number, client.async_infer("add-sub", [tensor("INPUT0", left), tensor("INPUT1", left)]))
        )
    for number, request in pending:
        np.testing.assert_array_equal(request.get_result().as_numpy("OUTPUT0"), np.full((1, 16), 2 * number))


@check
def unknown_model():
    """unknown model, version and input are named in the error"""
    _, _, inputs = add_sub_inputs(1, True)
    raises(InferenceServerException, lambda: client.infer("add-subb", inputs), "add-subb", "add-sub")
    raises(InferenceServerException, lambda: client.infer("add-sub", inputs, model_version="99"), "99")
    left = np.zeros((1, 16), dtype=np.int32)
    raises(
        InferenceServerException,
        lambda: client.infer("add-sub", [tensor("INPUT0", left), tensor("INPUT2", left)]),
        "INPUT2",
    )
    raises(InferenceServerException, lambda: client.infer("add-sub", [tensor("INPUT0", left)]), "INPUT1")
    raises(
        InferenceServerException,
        lambda: client.infer("add-sub", inputs, outputs=[http.InferRequestedOutput("OUTPUT9")]),
        "OUTPUT9",
    )


@check
def wrong_inputs():
    """wrong shape and wrong datatype name the tensor, what was expected and what was got"""
    wide = np.zeros((1, 17), dtype=np.int32)
    right = np.zeros((1, 16), dtype=np.int32)
    raises(
        InferenceServerException,
        lambda: client.infer("add-sub", [tensor("INPUT0", wide), tensor("INPUT1", right)]),
        "INPUT0",
        "17",
        "16",
    )
    floats = np.zeros((1, 16), dtype=np.float32)
    raises(
        InferenceServerException,
        lambda: client.infer("add-sub", [tensor("INPUT0", floats), tensor("INPUT1", right)]),
        "INPUT0",
        "FP32",
        "INT32",
    )


@check
def repository():
    """index, unload and load; an unloaded model is not ready and comes back"""
    names = {entry["name"] for entry in client.get_model_repository_index()}
    assert {"add-sub", "all-types", "string-echo"} <= names
    client.unload_model("string-echo")
    assert not client.is_model_ready("string-echo")
    client.load_model("string-echo")
    assert client.is_model_ready("string-echo")


@check
def statistics():
    """statistics have every field that the field's load tool reads"""
    stats = client.get_inference_statistics("add-sub")["model_stats"][0]
    assert stats["name"] == "add-sub" and stats["version"] == "1"
    assert stats["inference_count"] > 0 and stats["execution_count"] > 0
    for key in ("success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss"):
        assert "count" in stats["inference_stats"][key] and "ns" in stats["inference_stats"][key], key
    assert stats["batch_stats"]


@check
def settings():
    """trace and log settings can be read"""
    assert isinstance(client.get_trace_settings(), dict)
    assert isinstance(client.get_log_settings(), dict)


@check
def timeout_parameter():
    """a timeout of one microsecond is answered as a deadline error"""
    _, _, inputs = add_sub_inputs(1, True)
    raises(InferenceServerException, lambda: client.infer("add-sub", inputs, timeout=1))


run_all()
