// The activity by which passes find the hosts of cloud services.

import { activitiesOf } from '../../kit/index.ts'

export const clouds = activitiesOf(() => import('../../../activities/chaos/cloud/find-hosts.ts'), {
  findHosts: { timeoutMs: 30_000 },
})
