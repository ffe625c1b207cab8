"""tritonclient.grpc, unchanged, against the V2 gRPC face. Usage: grpc_sync.py HOST:PORT"""
import queue
import sys
import threading

import grpc
import numpy as np
import tritonclient.grpc as client_module
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from checks import check, raises, run_all

URL = sys.argv[1]
client = client_module.InferenceServerClient(URL)
channel = grpc.insecure_channel(URL, options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)])
stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)


def tensor(name, array):
    made = client_module.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    made.set_data_from_numpy(array)
    return made


def add_sub_inputs(rows, right=3):
    left = np.arange(rows * 16, dtype=np.int32).reshape(rows, 16)
    other = np.full((rows, 16), right, dtype=np.int32)
    return left, other, [tensor("INPUT0", left), tensor("INPUT1", other)]


@check
def health():
    """server and models report live and ready"""
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("add-sub") and client.is_model_ready("add-sub", "1")
    assert not client.is_model_ready("no-such-model")
    # grpc.health.v1.Health/Check of "", of readiness, of a model and of nothing: SERVING is field 1 = 1.
    ask = channel.unary_unary("/grpc.health.v1.Health/Check", lambda name: b"\x0a" + bytes([len(name)]) + name, bytes)
    for name in (b"", b"inference.GRPCInferenceService", b"add-sub"):
        assert ask(name) == b"\x08\x01", name
    error = raises(grpc.RpcError, lambda: ask(b"no-such-model"))
    assert error.code() == grpc.StatusCode.NOT_FOUND


@check
def health_watch():
    """Health/Watch tells the state at once, and SERVICE_UNKNOWN for what is not there"""
    watch = channel.unary_stream("/grpc.health.v1.Health/Watch", lambda name: b"\x0a" + bytes([len(name)]) + name, bytes)
    call = watch(b"")
    assert next(call) == b"\x08\x01"
    call.cancel()
    call = watch(b"nothing")
    assert next(call) == b"\x08\x03"
    call.cancel()


def reflected(version, request):
    ask = channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo", bytes, bytes)
    return next(ask(iter([request])))


@check
def reflection():
    """server reflection v1 and v1alpha list the services and describe the inference service"""
    for version in ("v1", "v1alpha"):
        services = reflected(version, b"\x3a\x00")
        for name in (b"inference.GRPCInferenceService", b"grpc.health.v1.Health"):
            assert name in services, services
        symbol = b"inference.GRPCInferenceService"
        described = reflected(version, b"\x22" + bytes([len(symbol)]) + symbol)
        for name in (b"ModelInferRequest", b"raw_input_contents", b"ModelConfig"):
            assert name in described, name


@check
def metadata():
    """server and model metadata and configuration have the fields that clients read"""
    server = client.get_server_metadata(as_json=True)
    assert server["name"] == "gimbal" and "classification" in server["extensions"]
    model = client.get_model_metadata("add-sub")
    assert model.name == "add-sub" and list(model.versions) == ["1"]
    assert [(one.name, one.datatype, list(one.shape)) for one in model.inputs] == [
        ("INPUT0", "INT32", [-1, 16]),
        ("INPUT1", "INT32", [-1, 16]),
    ]
    config = client.get_model_config("add-sub").config
    assert config.max_batch_size >= 1 and config.input[0].dims[0] == 16 and config.HasField("dynamic_batching")
    raises(InferenceServerException, lambda: client.get_model_metadata("add-subb"), "add-subb", "add-sub")


@check
def raw():
    """add-sub answers, the id is echoed, and only requested outputs come, in their order"""
    for rows in (1, 2, 7, 500):
        left, right, inputs = add_sub_inputs(rows)
        result = client.infer("add-sub", inputs, request_id="r-1")
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), left + right)
        np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), left - right)
        assert result.get_response().id == "r-1" and result.get_response().model_version == "1"
    wanted = [client_module.InferRequestedOutput(name) for name in ("OUTPUT1", "OUTPUT0")]
    response = client.infer("add-sub", inputs, outputs=wanted).get_response()
    assert [one.name for one in response.outputs] == ["OUTPUT1", "OUTPUT0"]
    one = client.infer("add-sub", inputs, outputs=wanted[:1])
    assert one.as_numpy("OUTPUT0") is None
    np.testing.assert_array_equal(one.as_numpy("OUTPUT1"), left - right)


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

MEMBERS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}


def typed(request, name, datatype, shape, values):
    made = request.inputs.add(name=name, datatype=datatype, shape=shape)
    getattr(made.contents, MEMBERS[datatype]).extend(values)
    return made


@check
def every_datatype_raw():
    """every datatype survives unchanged in raw_input_contents"""
    result = client.infer("all-types", [tensor(name, array) for name, array in ARRAYS.items()])
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(result.as_numpy(name.replace("in_", "out_")), array)


@check
def typed_contents():
    """typed contents give the same tensors as raw ones, in any order of inputs"""
    request = service_pb2.ModelInferRequest(model_name="add-sub", id="typed")
    typed(request, "INPUT1", "INT32", [2, 16], range(32))
    typed(request, "INPUT0", "INT32", [2, 16], [-1] * 32)
    response = stub.ModelInfer(request)
    assert response.id == "typed"
    got = np.frombuffer(response.raw_output_contents[0], dtype=np.int32)
    np.testing.assert_array_equal(got, np.arange(32) - 1)
    request = service_pb2.ModelInferRequest(model_name="string-echo")
    typed(request, "INPUT0", "BYTES", [1, 3], [b"", b"a" * 70000, "žluť".encode()])
    raw = stub.ModelInfer(request).raw_output_contents[0]
    assert raw == b"".join(len(one).to_bytes(4, "little") + one for one in (b"", b"a" * 70000, "žluť".encode()))


@check
def typed_refusals():
    """a value out of range, a member of another type, a wrong count, FP16 typed and both forms at once are refused"""

    def refused(build, *needles):
        request = service_pb2.ModelInferRequest(model_name="all-types")
        build(request)
        for name, array in ARRAYS.items():
            if all(one.name != name for one in request.inputs):
                datatype = np_to_triton_dtype(array.dtype)
                if datatype == "FP16":
                    request.inputs.add(name=name, datatype=datatype, shape=[1, 3]).contents.fp32_contents.extend([1, 2, 3])
                else:
                    typed(request, name, datatype, [1, 3], array.flatten().tolist())
        error = raises(grpc.RpcError, lambda: stub.ModelInfer(request))
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error.code()
        for needle in needles:
            assert needle in error.details(), error.details()

    refused(lambda request: None, "FP16", "raw_input_contents")
    refused(lambda request: request.inputs.add(name="in_int8", datatype="INT8", shape=[1, 3]).contents.uint_contents.extend([1, 2, 3]), "int_contents")
    refused(lambda request: typed(request, "in_bool", "BOOL", [1, 3], [True]), "3 elements", "got 1")
    left, right, inputs = add_sub_inputs(1)
    request = service_pb2.ModelInferRequest(model_name="add-sub")
    for name, array in (("INPUT0", left), ("INPUT1", right)):
        typed(request, name, "INT32", [1, 16], array.flatten().tolist())
        request.raw_input_contents.append(array.tobytes())
    raises(grpc.RpcError, lambda: stub.ModelInfer(request), "raw_input_contents", "contents")


@check
def special_values():
    """empty shapes, NaN, infinities and signed zero pass bit for bit"""
    for shape in ((0, 4), (1, 0), (0, 0)):
        array = np.zeros(shape, dtype=np.float32)
        assert client.infer("identity-fp32", [tensor("INPUT0", array)]).as_numpy("OUTPUT0").shape == shape
    array = np.array([[np.nan, np.inf, -np.inf, -0.0, 1e-45]], dtype=np.float32)
    got = client.infer("identity-fp32", [tensor("INPUT0", array)]).as_numpy("OUTPUT0")
    assert got.tobytes() == array.tobytes()


@check
def big_inputs():
    """a 40 MB tensor passes; a message over the limit is refused as too large, and the connection goes on"""
    array = np.random.default_rng(7).random((10, 1_000_000), dtype=np.float32)
    np.testing.assert_array_equal(client.infer("identity-fp32", [tensor("INPUT0", array)]).as_numpy("OUTPUT0"), array)
    request = service_pb2.ModelInferRequest(model_name="identity-fp32")
    request.inputs.add(name="INPUT0", datatype="FP32", shape=[17, 1024, 1024])
    request.raw_input_contents.append(bytes(17 * 4 * 1024 * 1024))
    error = raises(grpc.RpcError, lambda: stub.ModelInfer(request))
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, error
    details = dict(error.trailing_metadata())
    assert b"INPUT_TOO_LARGE" in details.get("grpc-status-details-bin", b""), details
    assert client.is_server_live()


@check
def classification():
    """the classification extension gives value:index strings"""
    row = np.zeros((2, 64), dtype=np.float32)
    outputs = [client_module.InferRequestedOutput("probabilities", class_count=3)]
    got = client.infer("digits-mlp", [tensor("pixels", row)], outputs=outputs).as_numpy("probabilities")
    assert got.shape == (2, 3), got.shape
    value, index, *label = got[0][0].decode().split(":")
    assert 0 <= float(value) <= 1 and 0 <= int(index) <= 9


@check
def asynchronous():
    """async_infer: 40 requests at once, none mixed up"""
    answers = queue.Queue()
    for number in range(40):
        left = np.full((1, 16), number, dtype=np.int32)
        client.async_infer(
            "add-sub",
            [tensor("INPUT0", left), tensor("INPUT1", left)],
            callback=lambda result, error, number=number: answers.put((number, result, error)),
        )
    for _ in range(40):
        number, result, error = answers.get(timeout=30)
        assert error is None, error
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), np.full((1, 16), 2 * number))


@check
def errors():
    """statuses are those of the registry, with code, request id and fields in their details"""
    _, right, inputs = add_sub_inputs(1)
    raises(InferenceServerException, lambda: client.infer("add-subb", inputs), "add-subb", "add-sub", "NOT_FOUND")
    raises(InferenceServerException, lambda: client.infer("add-sub", inputs, model_version="99"), "99", "NOT_FOUND")
    raises(InferenceServerException, lambda: client.infer("add-sub", inputs[:1]), "INPUT1", "INVALID_ARGUMENT")
    wide = np.zeros((1, 17), dtype=np.int32)
    raises(InferenceServerException, lambda: client.infer("add-sub", [tensor("INPUT0", wide), inputs[1]]), "INPUT0", "17", "16")
    wrong = client_module.InferRequestedOutput("OUTPUT9")
    raises(InferenceServerException, lambda: client.infer("add-sub", inputs, outputs=[wrong]), "OUTPUT9")
    raises(InferenceServerException, lambda: client.infer("add-sub", inputs, timeout=1), "DEADLINE_EXCEEDED")
    request = service_pb2.ModelInferRequest(model_name="add-sub")
    request.inputs.add(name="INPUT0", datatype="INT32", shape=[1, 17])
    request.inputs.add(name="INPUT1", datatype="INT32", shape=[1, 16])
    error = raises(grpc.RpcError, lambda: stub.ModelInfer(request, metadata=[("x-request-id", "mine-1")]))
    trailers = dict(error.trailing_metadata())
    assert trailers["x-request-id"] == "mine-1"
    for part in (b"ErrorInfo", b"INVALID_INPUT", b"BadRequest", b"mine-1"):
        assert part in trailers["grpc-status-details-bin"], part
    raises(grpc.RpcError, lambda: stub.ModelInfer(request, metadata=[("inference-criticality", "urgent")]), "Inference-Criticality")
    raises(grpc.RpcError, lambda: channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", bytes, bytes)(b"\xff\xff"), "INVALID_ARGUMENT")
    raises(grpc.RpcError, lambda: channel.unary_unary("/inference.GRPCInferenceService/Nothing", bytes, bytes)(b""), "UNIMPLEMENTED")


@check
def answer_metadata():
    """an answer says its request id, model, version, variant and timings"""
    left, right, _ = add_sub_inputs(1)
    request = service_pb2.ModelInferRequest(model_name="add-sub")
    for name, array in (("INPUT0", left), ("INPUT1", right)):
        typed(request, name, "INT32", [1, 16], array.flatten().tolist())
    request.parameters["priority"].uint64_param = 1
    request.parameters["timeout"].int64_param = 5_000_000
    _, call = stub.ModelInfer.with_call(request, metadata=[("x-request-id", "mine-2"), ("inference-criticality", "critical")])
    got = dict(call.initial_metadata())
    assert got["x-request-id"] == "mine-2" and got["inference-model"] == "add-sub" and got["inference-version"] == "1"
    assert "infer;dur=" in got["server-timing"] and "inference-degraded" not in got


@check
def cancellation():
    """a cancelled call ends at once, a short deadline in time, and the server answers the next one"""
    slow = tensor("iterations", np.full((1, 1), 500, dtype=np.int64))
    done = threading.Event()
    seen = []
    call = client.async_infer("sequence-slow", [slow], callback=lambda result, error: (seen.append(error), done.set()))
    call.cancel()
    assert done.wait(10)
    assert "cancel" in str(seen[0]).lower(), seen
    raises(InferenceServerException, lambda: client.infer("sequence-slow", [slow], client_timeout=0.1), "DEADLINE_EXCEEDED")
    quick = tensor("iterations", np.full((1, 1), 1, dtype=np.int64))
    assert client.infer("sequence-slow", [quick], client_timeout=20).as_numpy("iterations_done")[0][0] == 1


def stream_of(parameters=None, requests=20, model="add-sub", **more):
    answers = queue.Queue()
    with client_module.InferenceServerClient(URL) as streaming:
        streaming.start_stream(callback=lambda result, error: answers.put((result, error)))
        for number in range(requests):
            left = np.full((1, 16), number, dtype=np.int32)
            streaming.async_stream_infer(
                model,
                [tensor("INPUT0", left), tensor("INPUT1", left)],
                request_id=str(number),
                parameters=parameters,
                **more,
            )
        streaming.stop_stream()
    seen = []
    while not answers.empty():
        seen.append(answers.get())
    return seen


@check
def streaming():
    """200 requests on one stream: each is answered once, by its id"""
    seen = stream_of(requests=200)
    assert len(seen) == 200 and all(error is None for _, error in seen)
    for result, _ in seen:
        number = int(result.get_response().id)
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), np.full((1, 16), 2 * number))
        assert result.get_response().parameters["triton_final_response"].bool_param
    assert {result.get_response().id for result, _ in seen} == {str(number) for number in range(200)}


@check
def streaming_empty_final():
    """with triton_enable_empty_final_response an empty final response follows each answer"""
    seen = stream_of(requests=3, enable_empty_final_response=True)
    assert len(seen) == 6 and all(error is None for _, error in seen)
    finals = [result for result, _ in seen if result.get_response().parameters["triton_final_response"].bool_param]
    assert sorted(result.get_response().id for result in finals) == ["0", "1", "2"]
    assert all(len(result.get_response().outputs) == 0 for result in finals)


@check
def streaming_errors():
    """an error on a stream is one message with its id; the stream stays open"""
    left, right, _ = add_sub_inputs(1)

    def request(identifier, model):
        made = service_pb2.ModelInferRequest(model_name=model, id=identifier)
        for name, array in (("INPUT0", left), ("INPUT1", right)):
            typed(made, name, "INT32", [1, 16], array.flatten().tolist())
        return made

    seen = list(stub.ModelStreamInfer(iter([request("a", "add-sub"), request("b", "nope"), request("c", "add-sub")])))
    by_id = {one.infer_response.id: one for one in seen}
    assert set(by_id) == {"a", "b", "c"}
    assert "nope" in by_id["b"].error_message and not by_id["b"].infer_response.outputs
    assert not by_id["c"].error_message and by_id["c"].infer_response.raw_output_contents
    cancelled = stub.ModelStreamInfer(iter([request("d", "add-sub")] * 50))
    next(cancelled)
    cancelled.cancel()
    assert client.is_server_live()


@check
def repository():
    """index, unload and load; KServe's message with the model at field 1 is understood"""
    names = {entry.name for entry in client.get_model_repository_index().models}
    assert {"add-sub", "all-types", "string-echo"} <= names
    client.unload_model("string-echo")
    assert not client.is_model_ready("string-echo")
    client.load_model("string-echo")
    assert client.is_model_ready("string-echo")
    load = channel.unary_unary("/inference.GRPCInferenceService/RepositoryModelLoad", bytes, bytes)
    assert load(b"\x0a\x0bstring-echo") == b"\x0a\x0bstring-echo\x10\x01"
    raises(InferenceServerException, lambda: client.load_model("string-echo", config="{}"), "version.yaml")


@check
def statistics():
    """statistics have every field that the field's load tool reads"""
    stats = client.get_inference_statistics("add-sub").model_stats[0]
    assert stats.name == "add-sub" and stats.version == "1"
    assert stats.inference_count > 0 and stats.execution_count > 0
    for key in ("success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss"):
        assert stats.inference_stats.HasField(key), key
    assert stats.inference_stats.success.ns > 0 and stats.batch_stats[0].batch_size > 0
    assert len(client.get_inference_statistics().model_stats) >= 4


@check
def settings_and_shared_memory():
    """trace and log settings can be read and not changed; shared memory is not supported"""
    assert client.get_trace_settings(as_json=True)["settings"]["trace_level"]["value"] == ["OFF"]
    assert client.get_log_settings(as_json=True)["settings"]["log_info"]["bool_param"]
    raises(InferenceServerException, lambda: client.update_trace_settings(settings={"trace_rate": "1"}), "UNIMPLEMENTED")
    raises(InferenceServerException, client.get_system_shared_memory_status, "UNIMPLEMENTED")
    raises(InferenceServerException, client.get_cuda_shared_memory_status, "UNIMPLEMENTED")


@check
def compression():
    """gzip and deflate requests are understood"""
    left, right, inputs = add_sub_inputs(64)
    for algorithm in ("gzip", "deflate"):
        result = client.infer("add-sub", inputs, compression_algorithm=algorithm)
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), left + right)


run_all()
