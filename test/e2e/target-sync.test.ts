// A TargetSync on real servers: Secrets of another namespace become Targets, and go with it. What is made of Secrets and Shoots in detail:
// test/env/target-sync.test.ts.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { API, OPERATION } from '../support/cluster.ts'
import { secret } from '../support/imports.ts'
import { historiesOf, journalOf, leaks } from '../support/planted-secret.ts'
import { useStage } from '../support/stage.ts'

const CANARY = 'canary-4be1f07a22'
const folder = mkdtempSync(join(tmpdir(), 'pawl-target-sync-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
})

const stage = useStage('target-sync', () => {
  const ofBoth = ['--target-sync', 'yes', '--content-key', join(folder, 'content.key')]
  return Promise.resolve({ bridgeFlags: ofBoth, workerFlags: ofBoth })
})

describe('a TargetSync', () => {
  it('keeps the Targets of its namespace in step with a source, tells nothing of them, and takes them with it', async () => {
    const { cluster, pawl, servers } = stage
    const source = `${cluster.namespace}-source`
    const inSource = (name: string) => `/api/v1/namespaces/${source}/secrets${name}`
    await cluster.kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: source } } })
    const offered = (name: string, text: string) => ({ metadata: { name }, stringData: { kubeconfig: text } })
    await cluster.kube.request('POST', inSource(''), { body: offered('berry.kubeconfig', CANARY) })
    await cluster.kube.request('POST', inSource(''), { body: offered('berry.token', CANARY) })
    await cluster.create(secret('access', { kubeconfig: readFileSync(servers.kubeconfigPath, 'utf8') }), 'secrets')
    const spec = { sourceNamespace: source, secretRef: { name: 'access' }, secretNameExpression: '\\.kubeconfig$' }
    await cluster.create({ apiVersion: API, kind: 'TargetSync', metadata: { name: 'sync' }, spec }, 'targetsyncs')

    const synced = await cluster.until('targetsyncs', 'sync', (one) => one?.status?.['lastUpdateTime'] !== undefined)
    expect(synced.status).toMatchObject({ observedGeneration: 1 })
    expect(synced.status?.['lastErrors'] ?? []).toEqual([])
    expect((await cluster.list('targets')).map(({ metadata }) => metadata.name)).toEqual(['berry.kubeconfig'])

    await cluster.kube.request('DELETE', inSource('/berry.kubeconfig'))
    await cluster.kube.request('POST', inSource(''), { body: offered('cherry.kubeconfig', CANARY) })
    await cluster.patch('targetsyncs', 'sync', { metadata: { annotations: { [OPERATION]: 'reconcile' } } })
    await cluster.until('targetsyncs', 'sync', (one) => one?.metadata.annotations?.[OPERATION] === undefined)
    expect((await cluster.list('targets')).map(({ metadata }) => metadata.name)).toEqual(['cherry.kubeconfig'])

    const dumps = await Promise.all([journalOf(pawl), historiesOf(pawl, cluster, 1)])
    for (const dump of dumps) {
      expect(dump).toContain('sync')
      expect(leaks(dump, CANARY)).toEqual([])
    }
    await cluster.delete('targetsyncs', 'sync')
    await cluster.until('targetsyncs', 'sync', (one) => one === undefined)
    expect(await cluster.list('targets')).toEqual([])
    expect((await cluster.list('secrets', 'v1')).map(({ metadata }) => metadata.name)).toEqual(['access'])
    await cluster.kube.request('DELETE', `/api/v1/namespaces/${source}`)
  })
})
