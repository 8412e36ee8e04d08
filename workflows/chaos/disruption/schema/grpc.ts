// The kind grpc. Wire format: spec/chaos.md 1.6.

import { integer, list, oneOf, record, required, text, type ValueOf } from '../../../kit/index.ts'

export const GRPC_ERRORS = [
  ...(['OK', 'CANCELED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'] as const),
  ...(['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE'] as const),
  ...(['UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'] as const),
]

const alteration = record('What happens to some calls of a method.', {
  endpoint: required(text('The method, such as /package.Service/Method.', { maxLength: 1024 })),
  error: oneOf('The error that is answered; or override.', [...GRPC_ERRORS, '']),
  override: oneOf('The message that is answered, {} for an empty one; or error.', ['{}', '']),
  queryPercent: integer('Which share of the calls; absent: what other entries of the endpoint leave, in equal parts.', {
    minimum: 0,
    maximum: 100,
  }),
})

export const grpcField = record(
  'Answers calls in place of the gRPC server, which has to help with that; at level pod.',
  {
    port: required(integer('The port of the server.', { minimum: 1, maximum: 65535 })),
    endpoints: required(list('What happens to which calls.', alteration, { minItems: 1, maxItems: 1024 })),
  },
)

export type GrpcDisruption = ValueOf<typeof grpcField>
export type GrpcAlteration = ValueOf<typeof alteration>
