// `--strict-tenancy` by accounts that have the shipped roles and no other right.

import { describe, expect, it } from 'vitest'

import { configMap, createTarget, start, trigger } from '../support/landscaper/manifests.ts'
import { useStage } from '../support/pawl/stage.ts'

const NAMESPACE = 'strict-tenancy-e2e'
const stage = useStage(NAMESPACE, () => Promise.resolve({ workerFlags: ['--strict-tenancy', 'yes'] }))

describe('a Target with selfConfig, with --strict-tenancy', () => {
  it('deploys when the ServiceAccount allows it, and not before', async () => {
    const { cluster } = stage
    await createTarget(cluster)
    await start(cluster, 'careful', [{ name: 'manifest', manifests: [configMap('made', NAMESPACE)] }])
    const failed = await cluster.waitUntilFinished('careful', undefined, 'executions')
    expect(failed.status?.phase).toBe('Failed')
    expect(JSON.stringify((await cluster.items('careful')).get('manifest')?.status)).toContain(
      'annotation pawl.dev/allow-targets: found nothing; expected \\"true\\", because of --strict-tenancy',
    )
    await cluster.kube.request('PATCH', `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/here`, {
      body: { metadata: { annotations: { 'pawl.dev/allow-targets': 'true' } } },
      contentType: 'application/merge-patch+json',
    })
    await trigger(cluster, 'careful', 'careful-2')
    expect((await cluster.waitUntilFinished('careful', failed.status?.jobID, 'executions')).status?.phase).toBe(
      'Succeeded',
    )
    expect(await cluster.get('configmaps', 'made', 'v1')).toMatchObject({ data: { key: 'value' } })
  })
})
