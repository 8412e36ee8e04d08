// The kinds that take something away: cpuPressure, memoryPressure, diskPressure. Wire format: spec/chaos.md 1.6.

import { int64, intOrString, record, required, text, type ValueOf } from '../../../kit/index.ts'
import { durationField } from '../../go-duration.ts'

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
