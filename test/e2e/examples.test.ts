// Tests that each manifest under examples/ behaves as its first lines say, and that a user needs only kubectl for the daily work.

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { API, type LsObject, OPERATION } from '../support/cluster/cluster.ts'
import { historiesOf, journalOf, findLeaks } from '../support/tenants/planted-secret.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('examples', () => Promise.resolve({ workerFlags: ['--registry-local', 'examples/components'] }))
const run = promisify(execFile)

async function kubectl(...args: readonly string[]): Promise<string> {
  const { kubectlPath, kubeconfigPath } = stage.servers
  const { stdout } = await run(kubectlPath, ['--kubeconfig', kubeconfigPath, '-n', stage.cluster.namespace, ...args])
  return stdout
}

const exported = async (name: string) => await kubectl('get', 'dataobject', name, '-o', 'jsonpath={.data}')

/** How the job of an example ends: phases of Installation and items (absent: never started), and the reason that its Execution gives. */
interface End {
  readonly phase: string
  readonly items: Readonly<Record<string, string | undefined>>
  readonly reason?: string
  /** The item that waits for ever: the job is interrupted when it does. */
  readonly interrupted?: string
}

const ENDS: Readonly<Record<string, End>> = {
  'automatic-reconcile.yaml': { phase: 'Succeeded', items: { report: 'Succeeded' } },
  'components.yaml': { phase: 'Succeeded', items: { server: 'Succeeded' } },
  'cycle.yaml': {
    phase: 'Failed',
    items: { start: 'Succeeded', a: undefined, b: undefined, c: undefined },
    reason: 'CyclicDependencies',
  },
  'delete-without-uninstall.yaml': { phase: 'Succeeded', items: { stone: 'Succeeded' } },
  'diamond.yaml': {
    phase: 'Succeeded',
    items: { network: 'Succeeded', database: 'Succeeded', cache: 'Succeeded', app: 'Succeeded' },
  },
  'failing-branch.yaml': {
    phase: 'Failed',
    items: { assets: 'Succeeded', schema: 'Failed', migrate: undefined, app: undefined },
    reason: 'DeployItemsFailed',
  },
  'imports.yaml': { phase: 'Succeeded', items: { database: 'Succeeded', app: 'Succeeded' } },
  'interrupt.yaml': {
    phase: 'Failed',
    items: { base: 'Succeeded', tower: 'Failed', crown: 'Failed' },
    reason: 'DeployItemsFailed',
    interrupted: 'tower',
  },
  'kubeconfigs.yaml': { phase: 'Succeeded', items: {} },
  'manifest.yaml': { phase: 'Succeeded', items: { database: 'Succeeded', app: 'Succeeded' } },
  'rendered-sub-installations.yaml': { phase: 'Succeeded', items: {} },
  'roots.yaml': { phase: 'Succeeded', items: { server: 'Succeeded' } },
  'signed.yaml': { phase: 'Succeeded', items: { till: 'Succeeded' } },
  'sub-installations.yaml': { phase: 'Succeeded', items: {} },
  'spiff.yaml': { phase: 'Succeeded', items: { 'zone-eu-1a': 'Succeeded', 'zone-eu-1b': 'Succeeded' } },
  'state.yaml': { phase: 'Succeeded', items: { lock: 'Succeeded' } },
  'targets.yaml': {
    phase: 'Succeeded',
    items: {
      home: 'Succeeded',
      'at-0': 'Succeeded',
      'at-1': 'Succeeded',
      'in-east': 'Succeeded',
      'in-west': 'Succeeded',
    },
  },
}

describe.concurrent('the example', () => {
  it.each(readdirSync('examples').filter((file) => file.endsWith('.yaml')))('%s ends as expected', async (file) => {
    const documents = parseAllDocuments(readFileSync(`examples/${file}`, 'utf8'))
    const manifests = documents.map((one) => one.toJS() as LsObject)
    const manifest = manifests.find(({ kind }) => kind === 'Installation')
    const name = manifest?.metadata.name ?? ''
    expect(manifest?.apiVersion).toBe(API)
    await kubectl('apply', '-f', `examples/${file}`)
    const { interrupted, ...expected } = ENDS[file] ?? { phase: 'no end in this test', items: {} }
    if (interrupted !== undefined) await interrupt(name, interrupted)
    const root = await stage.cluster.waitUntilFinished(name)
    const execution = await stage.cluster.get('executions', name)
    const end: End = {
      phase: root.status?.phase ?? '',
      items: await stage.cluster.phases(name),
      ...(execution?.status?.lastError !== undefined && { reason: execution.status.lastError.reason }),
    }
    expect(end).toEqual(expected)
  })
})

async function interrupt(name: string, item: string): Promise<void> {
  await stage.cluster.waitUntilItems(name, [item], (one) => one?.status?.phase === 'Progressing')
  await kubectl('annotate', '--overwrite', 'inst', name, `${OPERATION}=interrupt`)
}

// After those above, which apply them.
describe('the first lines of an example', () => {
  describe.concurrent('describe the result', () => {
    it('of the example with imports', async () => {
      const first = await stage.cluster.waitUntilFinished('shop')
      expect(await exported('shop-address')).toBe('https://shop.example.com:8443')
      await kubectl('patch', 'dataobject', 'shop-size', '--type=merge', '-p', '{"data": {"cpu": 4, "replicas": 3}}')
      await kubectl('annotate', 'inst', 'shop', `${OPERATION}=reconcile`)
      await stage.cluster.waitUntilFinished('shop', first.status?.jobID)
      const database = (await stage.cluster.items('shop')).get('database')
      expect(database?.status?.['providerStatus']).toMatchObject({ cpu: 4, region: 'eu-1' })
    })

    it('of the example with a component', async () => {
      await stage.cluster.waitUntilFinished('boutique')
      expect(await exported('boutique-link')).toBe('example.com/images/shop:1.2.0 with db.example.com:5432')
      expect(await kubectl('get', 'inst')).toMatch(/boutique +Succeeded[^]*database-\w+ +Succeeded/)
    })

    it('of the example with a signed component', async () => {
      await stage.cluster.waitUntilFinished('till')
      expect(await exported('till-image')).toBe('example.com/images/till:1.0.0')
    })

    it('of the example with sub-installations', async () => {
      await stage.cluster.waitUntilFinished('store')
      expect(await exported('store-link')).toBe('https://app.example.com/?db=db.example.com:5432')
      expect(await kubectl('get', 'inst')).toMatch(/app-\w+ +Succeeded[^]*database-\w+ +Succeeded[^]*store +Succeeded/)
    })

    it('of the example with two root Installations', async () => {
      const app = await stage.cluster.waitUntil('installations', 'app', (one) => one?.status?.phase === 'Succeeded')
      expect(await exported('app-link')).toBe('https://app.example.com/?db=db.example.com:5432')
      await kubectl('annotate', '--overwrite', 'inst', 'database', `${OPERATION}=reconcile`)
      await stage.cluster.waitUntilFinished('app', app.status?.jobID)
    })

    it('of the example with rendered sub-installations', async () => {
      const first = await stage.cluster.waitUntilFinished('market')
      expect(JSON.parse(await exported('market-prices'))).toEqual({ apples: '3 EUR', pears: '4 EUR' })
      const patch = '{"data": {"pears": null, "plums": {"price": 5}}}'
      await kubectl('patch', 'dataobject', 'market-stalls', '--type=merge', '-p', patch)
      await kubectl('annotate', 'inst', 'market', `${OPERATION}=reconcile`)
      await stage.cluster.waitUntilFinished('market', first.status?.jobID)
      expect(JSON.parse(await exported('market-prices'))).toEqual({ apples: '3 EUR', plums: '5 EUR' })
      const subs = ['-l', 'landscaper.gardener.cloud/encompassed-by=market', '-o', 'name']
      expect(await kubectl('get', 'inst', ...subs)).toMatch(/^\S+\/apples-\w+\s+\S+\/plums-\w+\s+$/)
    })

    it('of the example with Targets', async () => {
      await stage.cluster.waitUntilFinished('fleet')
      expect(JSON.parse(await exported('fleet-places'))).toEqual({
        home: 'harbour, brackish',
        'at-0': 'lake, sweet',
        'at-1': 'harbour, brackish',
        'in-east': 'lake, sweet',
        'in-west': 'sea, salt',
      })
    })

    it('of the example with Spiff', async () => {
      await stage.cluster.waitUntilFinished('zones')
      expect(await exported('zones-primary')).toBe('eu-1a')
    })

    it('of the example with a kubeconfig, whose token is neither in the journal nor in a history', async () => {
      const { cluster, pawl } = stage
      await cluster.waitUntilFinished('reader')
      expect(Date.parse(await exported('reader-expires'))).toBeGreaterThan(Date.now())
      const kubeconfig = await kubectl('get', 'target', 'reader', '-o', 'jsonpath={.spec.config.kubeconfig}')
      const folder = await mkdtemp(join(tmpdir(), 'pawl-reader-'))
      try {
        const file = join(folder, 'kubeconfig')
        await writeFile(file, kubeconfig)
        const { stdout } = await run(stage.servers.kubectlPath, ['--kubeconfig', file, 'auth', 'whoami', '-o', 'json'])
        const { status } = JSON.parse(stdout) as { status: { userInfo: { username: string } } }
        expect(status.userInfo.username).toBe(`system:serviceaccount:${cluster.namespace}:reader`)
      } finally {
        await rm(folder, { recursive: true })
      }
      const { users } = JSON.parse(kubeconfig) as { users: [{ user: { token: string } }] }
      const dumps = await Promise.all([journalOf(pawl), historiesOf(pawl, cluster, 1)])
      for (const dump of dumps) {
        expect(dump).toContain('reader')
        expect(findLeaks(dump, users[0].user.token)).toEqual([])
      }
    })
  })
})

describe('a user with kubectl', () => {
  it('sees the state of every object in its columns', async () => {
    await stage.cluster.waitUntilFinished('diamond')
    const columns = (await kubectl('get', 'inst', 'diamond'))
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/).slice(0, 3))
    expect(columns).toEqual([
      ['NAME', 'PHASE', 'EXECUTION'],
      ['diamond', 'Succeeded', 'diamond'],
    ])
    expect(await kubectl('get', 'exec,di')).toMatch(/execution\S*\/diamond\s+Succeeded/)
    expect(await kubectl('explain', 'inst.status.jobIDFinished')).toMatch(/last job that ended/)
  })

  it('starts a job of an Installation by annotation, and a job of an Execution by status', async () => {
    const { cluster } = stage
    const first = await cluster.waitUntilFinished('diamond')
    await kubectl('annotate', '--overwrite', 'inst', 'diamond', `${OPERATION}=reconcile`)
    expect((await cluster.waitUntilFinished('diamond', first.status?.jobID)).status).toMatchObject({
      phase: 'Succeeded',
    })

    const patch = JSON.stringify({ status: { jobID: 'by-kubectl' } })
    await kubectl('patch', 'exec', 'diamond', '--subresource=status', '--type=merge', '-p', patch)
    const again = await cluster.waitUntil('executions', 'diamond', (it) => it?.status?.jobIDFinished === 'by-kubectl')
    expect(again.status).toMatchObject({ phase: 'Succeeded', jobID: 'by-kubectl' })
  })

  it('sees that templates read their state in the next job', async () => {
    const report = async () => JSON.parse(await exported('safe-report')) as Readonly<Record<string, unknown>>
    const first = await stage.cluster.waitUntilFinished('safe')
    const { combination } = await report()
    expect(await report()).toEqual({ combination: expect.stringMatching(/^\d{12}$/) as string, jobs: 1 })
    await kubectl('annotate', 'inst', 'safe', `${OPERATION}=reconcile`)
    await stage.cluster.waitUntilFinished('safe', first.status?.jobID)
    expect(await report()).toEqual({ combination, jobs: 2 })
  })

  it('deletes an Installation and keeps its deployed objects with the annotation delete-without-uninstall', async () => {
    await stage.cluster.waitUntilFinished('monument')
    const without = 'landscaper.gardener.cloud/delete-without-uninstall=true'
    const inscription = async () => await kubectl('get', 'configmap', 'monument', '-o', 'jsonpath={.data.inscription}')
    await kubectl('annotate', 'inst', 'monument', without)
    await kubectl('delete', '--wait', '--timeout=60s', 'inst', 'monument')
    expect(await inscription()).toBe('here I stay')
    await kubectl('apply', '-f', 'examples/delete-without-uninstall.yaml')
    expect((await stage.cluster.waitUntilFinished('monument')).status).toMatchObject({ phase: 'Succeeded' })
    await kubectl('delete', '--wait', '--timeout=60s', 'inst', 'monument')
    await expect(inscription()).rejects.toThrow('not found')
  })

  it('deletes Installations and waits until all their objects are gone', async () => {
    await kubectl('delete', '--wait', '--timeout=60s', 'inst', 'diamond', 'failing-branch')
    const names = (await kubectl('get', 'inst,exec,di', '-o', 'name')).trim().split('\n')
    expect(names.filter((name) => /diamond|failing-branch/.test(name))).toEqual([])
  })
})
