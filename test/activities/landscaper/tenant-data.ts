// How tests read data of tenants: as a worker does. Threads start with the first work that needs one, and keep no process alive.

import { createDataReader } from '../../../activities/landscaper/bounded/tenant-data.ts'

export const data = createDataReader().of({ namespace: 'test' })

/** As dependencies of what opens Targets. */
export const dataOf = () => data
