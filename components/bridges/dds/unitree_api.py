"""Requests and responses of Unitree's remote procedures as DDS types; samples carry JSON."""

import json
from dataclasses import dataclass
from typing import Any


def _types() -> tuple[Any, Any, dict[str, Any]]:
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl import types as idl_types

    types: Any = idl_types  # its generics are known at run time only

    def struct(name: str, fields: dict[str, Any]) -> Any:
        import types as python_types

        from cyclonedds.idl import annotations

        def body(namespace: dict[str, Any]) -> None:
            namespace["__annotations__"] = fields

        typename = f"unitree_api.msg.dds_.{name}"
        made = python_types.new_class(name, (IdlStruct,), {"typename": typename}, body)
        return annotations.final(annotations.autoid("sequential")(dataclass(made)))

    identity = struct("RequestIdentity_", {"id": types.int64, "api_id": types.int64})
    lease = struct("RequestLease_", {"id": types.int64})
    policy = struct("RequestPolicy_", {"priority": types.int32, "noreply": bool})
    header = struct("RequestHeader_", {"identity": identity, "lease": lease, "policy": policy})
    status = struct("ResponseStatus_", {"code": types.int32})
    answer = struct("ResponseHeader_", {"identity": identity, "status": status})
    binary = types.sequence[types.byte]
    request = struct("Request_", {"header": header, "parameter": str, "binary": binary})
    response = struct("Response_", {"header": answer, "data": str, "binary": binary})
    return request, response, {"identity": identity, "status": status, "header": answer}


def request_type() -> Any:
    """Its samples have a `payload`: JSON with `id`, `api_id`, `noreply` and `parameter`."""
    request, _, _ = _types()

    def payload(self: Any) -> bytes:
        identity, policy = self.header.identity, self.header.policy
        found = {
            "id": identity.id,
            "api_id": identity.api_id,
            "noreply": bool(policy.noreply),
            "parameter": self.parameter,
        }
        return json.dumps(found).encode()

    request.payload = property(payload)
    return request


def response_type() -> Any:
    """`from_payload` makes a sample of JSON with `id`, `api_id`, `code` and `data`."""
    _, response, parts = _types()

    def from_payload(payload: bytes) -> Any:
        given = json.loads(payload)
        identity = parts["identity"](id=given["id"], api_id=given["api_id"])
        status = parts["status"](code=given["code"])
        header = parts["header"](identity=identity, status=status)
        return response(header=header, data=given["data"], binary=[])

    response.from_payload = staticmethod(from_payload)
    return response
