import {
  int64,
  intOrString,
  record,
  required,
  text,
  type ValueOf,
  flag,
  list,
  oneOf,
  integer,
} from '../../../kit/index.ts'
import { durationField } from '../../go-duration.ts'

export const nodeFailureField = record('Ends the node, at level pod the one of the pod.', {
  shutdown: flag('Whether it is powered off; otherwise its kernel crashes.'),
})

export const containerFailureField = record('Ends the containers of the target.', {
  forced: flag('Whether they are killed (SIGKILL); otherwise they are told to end (SIGTERM).'),
})

export const podReplacementField = record('Deletes the pod, so that another one comes on another node.', {
  deleteStorage: flag('Whether its PersistentVolumeClaims are deleted as well; by default they are.'),
  forceDelete: flag('Whether it is deleted without a grace period.'),
  gracePeriodSeconds: int64("Its grace period; default: the pod's own.", { minimum: 0 }),
})

export type NodeFailure = ValueOf<typeof nodeFailureField>
export type ContainerFailure = ValueOf<typeof containerFailureField>
export type PodReplacement = ValueOf<typeof podReplacementField>

/** Error numbers of openat(2). */
export const EXIT_CODES = [
  ...(['EACCES', 'EDQUOT', 'EEXIST', 'EFAULT', 'EFBIG', 'EINTR', 'EISDIR', 'ELOOP', 'EMFILE', 'ENAMETOOLONG'] as const),
  ...(['ENFILE', 'ENODEV', 'ENOENT', 'ENOMEM', 'ENOSPC', 'ENOTDIR', 'ENXIO', 'EOVERFLOW', 'EPERM', 'EROFS'] as const),
  ...(['ETXTBSY', 'EWOULDBLOCK'] as const),
]

/** The longest path that the kernel's filter compares. */
export const MAX_FAILING_PATH_LENGTH = 62

export const diskFailureField = record('Makes the opening of files fail.', {
  paths: required(
    list('How the paths of the files begin.', text('A path such as /mnt/data.'), { minItems: 1, maxItems: 64 }),
  ),
  openat: record('What the call openat answers.', {
    exitCode: oneOf('The error, such as ENOENT.', [...EXIT_CODES, '']),
  }),
  probability: text('How many of the calls fail; default 100%.', { pattern: '^((100|[1-9][0-9]?)%)?$' }),
})

export type DiskFailure = ValueOf<typeof diskFailureField>

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

export const cpuPressureField = record('Keeps CPUs busy.', {
  count: intOrString('How many CPUs, or a share of them such as 50%; default 100%.', {
    minimum: 1,
    pattern: '^([+]?[0-9]+%?)?$',
    maxLength: 16,
  }),
})

export const memoryPressureField = record('Fills the memory.', {
  targetPercent: required(
    intOrString('How full the memory shall be, in percent of its limit, such as 76 or 76%.', {
      minimum: 1,
      maximum: 100,
      maxLength: 16,
      pattern: '^\\s*[+]?0*(100|[1-9][0-9]?)%?\\s*$',
    }),
  ),
  rampDuration: durationField('How long it takes to fill; default: at once.'),
})

export const diskPressureField = record('Slows a disk down.', {
  path: required(text('A path on it, such as /mnt/data.', { maxLength: 4096 })),
  throttling: record('How fast it may be.', {
    readBytesPerSec: int64('The most bytes read per second.', { minimum: 1 }),
    writeBytesPerSec: int64('The most bytes written per second.', { minimum: 1 }),
  }),
})

export type CpuPressure = ValueOf<typeof cpuPressureField>
export type MemoryPressure = ValueOf<typeof memoryPressureField>
export type DiskPressure = ValueOf<typeof diskPressureField>
