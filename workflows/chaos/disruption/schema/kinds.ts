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

export const nodeFailureField = record('Ends the target node; at level pod, the node of the target pod.', {
  shutdown: flag('Whether the node is powered off; otherwise its kernel crashes.'),
})

export const containerFailureField = record('Ends the containers of the target.', {
  forced: flag('Whether the containers receive SIGKILL; otherwise SIGTERM.'),
})

export const podReplacementField = record(
  'Deletes the pod, so that its controller creates another one on another node.',
  {
    deleteStorage: flag('Whether the PersistentVolumeClaims of the pod are deleted as well; default: true.'),
    forceDelete: flag('Whether the pod is deleted without a grace period.'),
    gracePeriodSeconds: int64('The grace period of the deletion; default: terminationGracePeriodSeconds of the pod.', {
      minimum: 0,
    }),
  },
)

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
    list('The prefixes of the paths of the files.', text('A path such as /mnt/data.'), { minItems: 1, maxItems: 64 }),
  ),
  openat: record('The result of the system call openat.', {
    exitCode: oneOf('The error, such as ENOENT.', [...EXIT_CODES, '']),
  }),
  probability: text('The percentage of calls that fail; default: 100%.', { pattern: '^((100|[1-9][0-9]?)%)?$' }),
})

export type DiskFailure = ValueOf<typeof diskFailureField>

export const GRPC_ERRORS = [
  ...(['OK', 'CANCELED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'] as const),
  ...(['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE'] as const),
  ...(['UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'] as const),
]

const alteration = record('The answer to a share of the calls of a method.', {
  endpoint: required(text('The method, such as /package.Service/Method.', { maxLength: 1024 })),
  error: oneOf('The gRPC status code of the answer; exclusive with override.', [...GRPC_ERRORS, '']),
  override: oneOf('The message of the answer, {} for an empty message; exclusive with error.', ['{}', '']),
  queryPercent: integer(
    'The percentage of the calls; default: an equal part of the percentage that other entries of the endpoint leave.',
    {
      minimum: 0,
      maximum: 100,
    },
  ),
})

export const grpcField = record(
  'Answers calls instead of the gRPC server, which must support this; requires level pod.',
  {
    port: required(integer('The port of the server.', { minimum: 1, maximum: 65535 })),
    endpoints: required(list('The answers by method.', alteration, { minItems: 1, maxItems: 1024 })),
  },
)

export type GrpcDisruption = ValueOf<typeof grpcField>
export type GrpcAlteration = ValueOf<typeof alteration>

export const cpuPressureField = record('Keeps CPUs busy.', {
  count: intOrString('The number of CPUs, or a percentage of them such as 50%; default: 100%.', {
    minimum: 1,
    pattern: '^([+]?[0-9]+%?)?$',
    maxLength: 16,
  }),
})

export const memoryPressureField = record('Fills the memory.', {
  targetPercent: required(
    intOrString('The memory usage to reach, in percent of the memory limit, such as 76 or 76%.', {
      minimum: 1,
      maximum: 100,
      maxLength: 16,
      pattern: '^\\s*[+]?0*(100|[1-9][0-9]?)%?\\s*$',
    }),
  ),
  rampDuration: durationField('How long it takes to fill the memory; default: at once.'),
})

export const diskPressureField = record('Slows a disk down.', {
  path: required(text('A path on the disk, such as /mnt/data.', { maxLength: 4096 })),
  throttling: record('The limits of the throughput.', {
    readBytesPerSec: int64('The most bytes read per second.', { minimum: 1 }),
    writeBytesPerSec: int64('The most bytes written per second.', { minimum: 1 }),
  }),
})

export type CpuPressure = ValueOf<typeof cpuPressureField>
export type MemoryPressure = ValueOf<typeof memoryPressureField>
export type DiskPressure = ValueOf<typeof diskPressureField>
