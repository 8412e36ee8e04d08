// Temporal's own log lines, as fields of ours. Its messages are many; what it calls info is debug to a user of Pawl.

import { DefaultLogger, Runtime } from '@temporalio/worker'
import type { Logger } from '../log.ts'

/** Once per process, before anything of the worker is made. */
export function logTemporal(log: Logger): void {
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      const fields = { ...meta, part: 'temporal' }
      if (level === 'ERROR') log.error(fields, message)
      else if (level === 'WARN') log.warn(fields, message)
      else log.debug(fields, message)
    }),
    shutdownSignals: [],
  })
}
