// What the README tells a user to apply does what it says. For examples/ see examples.test.ts.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { KubeObject } from '../../activities/kube/client.ts'
import { useStage } from '../support/pawl/stage.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const stage = useStage('documents')

const readme = await readFile(`${ROOT}/README.md`, 'utf8')
const shop = /```yaml\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''

/** Creates the manifest in the test's namespace and waits for its job. */
async function run(manifest: string) {
  const object = parse(manifest) as KubeObject & { apiVersion: string }
  const { name } = object.metadata
  const namespaced = { ...object, metadata: { ...object.metadata, namespace: 'documents' } }
  await stage.cluster.create(namespaced, 'installations')
  const { phase } = (await stage.cluster.waitUntilFinished(name)).status ?? {}
  const execution = await stage.cluster.get('executions', name)
  return { name, phase, phases: await stage.cluster.phases(name), message: execution?.status?.lastError?.message }
}

describe.concurrent('the installation of the README', () => {
  it('succeeds with its three items, and is gone after its deletion', async () => {
    const phases = { app: 'Succeeded', cache: 'Succeeded', db: 'Succeeded' }
    expect(await run(shop)).toEqual({ name: 'shop', phase: 'Succeeded', phases, message: undefined })
    await stage.cluster.delete('installations', 'shop')
    await stage.cluster.waitUntilGone('shop')
    expect(await stage.cluster.phases('shop')).toEqual({})
  })

  it('says the path of the cycle when it is edited as the README says, and goes at once', async () => {
    const [, from = '', to = ''] = /sed 's\/(.*?)\/(.*?)\/;/.exec(readme) ?? []
    expect(shop).toContain(from)
    const circle = await run(shop.replace(from, to).replace('name: shop', 'name: circle'))
    expect(circle).toMatchObject({ phase: 'Failed' })
    expect(circle.message).toBe('items could not be started because they depend on each other: app -> db -> app')
    expect(readme).toContain(circle.message)
    await stage.cluster.delete('installations', 'circle')
    await stage.cluster.waitUntilGone('circle')
    expect(await stage.cluster.phases('circle')).toEqual({})
  })
})
