// Tests Landscaper's guided tour and its integration fixtures, rewritten with the same structure; each must end as
// documented. The manifests are in test/support/guided-tour/. Source: spec/landscaper.md 1-3 and appendix C.
//
//  T1. Omitted, because they need Helm: the hello world and its upgrade (the upgrade is here with manifests), the echo
//      server, charts as resources, charts in repositories and behind credentials, and Flux and Kustomize, which
//      charts install.
//  T2. Omitted, because they need another cluster or deployer: the fixtures of the container deployer, and targets
//      with OIDC and with shoots.
//  T3. Chapters with components in a registry use components in a folder here; test/e2e/oci-components.test.ts has
//      components in a registry.
//  T4. All chapters share a namespace, because Pawl watches one namespace in tests. So each chapter has its own object
//      names.
//  T5. Separate files test the pickup timeout, automatic reconcile and the order of deletions (pickup,
//      jobs, roots).

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { type LsObject, OPERATION } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'
import { subsOf } from '../support/landscaper/sub-installations.ts'

const FOLDER = 'test/support/guided-tour'
const stage = useStage('guided-tour', () =>
  Promise.resolve({ workerFlags: ['--registry-local', `${FOLDER}/components`] }),
)
const run = promisify(execFile)
// Many chapters at once on a busy machine.
const PATIENCE_MS = 100_000
// A chapter may have several jobs.
const LIMIT_MS = 300_000

async function kubectl(...args: readonly string[]): Promise<string> {
  const { kubectlPath, kubeconfigPath } = stage.servers
  const { stdout } = await run(kubectlPath, ['--kubeconfig', kubeconfigPath, '-n', stage.cluster.namespace, ...args])
  return stdout
}

const apply = async (chapter: string) => await kubectl('apply', '-f', `${FOLDER}/${chapter}.yaml`)

/** Applies a chapter's manifests and waits for the end of the job. @param after the Installation before this job. */
async function end(chapter: string, name: string, after?: LsObject): Promise<LsObject> {
  await apply(chapter)
  return await stage.cluster.waitUntilFinished(name, after?.status?.jobID, 'installations', PATIENCE_MS)
}

/** Like `end`, and expects that the job succeeds. */
async function success(chapter: string, name: string, after?: LsObject): Promise<LsObject> {
  const root = await end(chapter, name, after)
  expect(root.status?.lastError).toBeUndefined()
  expect(root.status?.phase).toBe('Succeeded')
  return root
}

async function again(before: LsObject): Promise<LsObject> {
  await kubectl('annotate', '--overwrite', 'inst', before.metadata.name, `${OPERATION}=reconcile`)
  return await stage.cluster.waitUntilFinished(before.metadata.name, before.status?.jobID, 'installations', PATIENCE_MS)
}

async function gone(name: string): Promise<void> {
  await kubectl('delete', '--wait=false', 'inst', name)
  await stage.cluster.waitUntilGone(name, 'installations', PATIENCE_MS)
}

/** The data of a ConfigMap, or undefined when the ConfigMap does not exist. */
const deployed = async (name: string) => (await stage.cluster.get('configmaps', name, 'v1'))?.['data']
const exported = async (name: string) => (await stage.cluster.get('dataobjects', name))?.['data']

beforeAll(async () => {
  await apply('clusters')
}, 240_000)

describe.concurrent('the basics', { timeout: LIMIT_MS }, () => {
  it('deploy, upgrade and delete manifests', async () => {
    const first = await success('manifests', 'postcard')
    expect(await deployed('postcard')).toEqual({ text: 'wish you were here' })
    expect(await deployed('postcard-stamp')).toEqual({ price: '70' })
    await success('manifests-upgraded', 'postcard', first)
    expect(await deployed('postcard')).toEqual({ text: 'home again' })
    expect(await deployed('postcard-stamp')).toBeUndefined()
    await gone('postcard')
    expect(await deployed('postcard')).toBeUndefined()
  })

  it('deploy two items to two Targets, one after the other', async () => {
    await success('two-items', 'pair')
    expect(await deployed('pair-first')).toEqual({ cluster: 'north' })
    expect(await deployed('pair-second')).toEqual({ cluster: 'south' })
    const items = await stage.cluster.items('pair')
    const time = (item: string, which: string) => items.get(item)?.status?.transitionTimes?.[which] ?? ''
    expect(time('second-item', 'triggerTime') >= time('first-item', 'finishedTime')).toBe(true)
  })

  it('run an Execution without an owner', async () => {
    const { cluster } = stage
    await apply('standalone')
    await cluster.patch('executions', 'standalone', { status: { jobID: 'by-hand' } }, 'status')
    const done = await cluster.waitUntilFinished('standalone', undefined, 'executions')
    expect(done.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'by-hand' })
    await cluster.deleteByHand('executions', 'standalone')
    await cluster.waitUntilGone('standalone', 'executions')
  })

  it('support a named Context, an inline component and spec.optimization', async () => {
    await success('context', 'loner')
    const image = { of: 'example.org/loner', repository: 'registry.example.org:5000/kettle', tag: '0.3.0' }
    expect(await exported('loner-image')).toEqual(image)
  })
})

describe.concurrent('an error', { timeout: LIMIT_MS }, () => {
  it('in a blueprint fails the job at once, and the fixed blueprint succeeds', async () => {
    const failed = await end('broken-blueprint', 'typo')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect(failed.status?.lastError?.message).toMatch(/blueprint\.yaml.*line/)
    await success('broken-blueprint-mended', 'typo', failed)
    expect(await deployed('typo')).toEqual({ says: 'nothing' })
  })

  it('that may be temporary fails the job after the timeout', async () => {
    const failed = await end('timeout', 'patience')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    const item = (await stage.cluster.items('patience')).get('waits')
    expect(item?.status).toMatchObject({ phase: 'Failed', lastError: { codes: ['ERR_TIMEOUT'] } })
    expect(await deployed('patience')).toEqual({ answer: '42' })
  })

  it('that may be temporary ends with an interrupt, and the fixed Installation succeeds', async () => {
    await apply('interrupted')
    await stage.cluster.waitUntilItems('haste', ['waits'], (item) => item?.status?.phase === 'Progressing')
    await kubectl('annotate', '--overwrite', 'inst', 'haste', `${OPERATION}=interrupt`)
    const failed = await stage.cluster.waitUntilFinished('haste')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    await success('interrupted-mended', 'haste', failed)
  })

  it('in a deletion ends when the user applies the missing Target and the reconcile annotation', async () => {
    const { cluster } = stage
    await success('lost-target', 'castaway')
    // A Target in use stays until its finalizer is removed by hand.
    await kubectl('delete', '--wait=false', 'target', 'island')
    await kubectl('patch', 'target', 'island', '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
    await kubectl('delete', '--wait=false', 'inst', 'castaway')
    await cluster.waitUntil('installations', 'castaway', (one) => one?.status?.phase === 'DeleteFailed', PATIENCE_MS)
    expect(await deployed('castaway')).toEqual({ message: 'help' })
    // Applies the complete file, like the tour: this recreates the Target and sets the reconcile annotation.
    await apply('lost-target')
    await cluster.waitUntilGone('castaway')
    expect(await deployed('castaway')).toBeUndefined()
  })
})

describe.concurrent('imports and exports', { timeout: LIMIT_MS }, () => {
  it('come from DataObjects, Secrets and ConfigMaps, through mappings', async () => {
    const first = await success('parameters', 'order')
    const out = { address: '10121 Turin', total: '15', card: '42', colors: 'red+blue', remark: 'none' }
    expect(await deployed('order-out')).toEqual(out)
    await kubectl('patch', 'dataobject', 'order-amount', '--type=merge', '-p', '{"data": 4}')
    await again(first)
    expect(await deployed('order-out')).toEqual({ ...out, total: '20' })
  })

  it('export a token that the cluster has created', async () => {
    await success('token', 'guest')
    const key = await kubectl('get', 'secret', 'guest-key', '-o', 'jsonpath={.data.token}')
    expect(key).not.toBe('')
    expect(await exported('guest-token')).toBe(Buffer.from(key, 'base64').toString())
  })

  it('match the schemas in files of the blueprint, or the job fails and names the field', async () => {
    const failed = await end('schema', 'parcel')
    expect(failed.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'SchemaValidationFailed' } })
    expect(failed.status?.lastError?.message).toContain('height')
    await kubectl('patch', 'dataobject', 'parcel-size', '--type=merge', '-p', '{"data": {"height": 30}}')
    expect((await again(failed)).status).toMatchObject({ phase: 'Succeeded' })
    expect(await deployed('parcel')).toMatchObject({ price: '12', 'prices.json': '{"small": 5, "large": 12}\n' })
  })

  it('are named in the error when they are missing', async () => {
    const failed = await end('required', 'recipe')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect(failed.status?.lastError?.message).toContain('water')
    await success('required-given', 'recipe', failed)
    expect(await exported('recipe-bread')).toBe('500 g and 300 ml')
  })

  it('are refused by one import execution and completed by another', async () => {
    const failed = await end('import-execution', 'hotel')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect(failed.status?.lastError?.message).toContain('9 guests for 8 beds')
    await kubectl('patch', 'dataobject', 'hotel-rooms', '--type=merge', '-p', '{"data": {"guests": 7}}')
    expect((await again(failed)).status).toMatchObject({ phase: 'Succeeded' })
    expect(await exported('hotel-free')).toBe(1)
  })
})

describe.concurrent('Targets', { timeout: LIMIT_MS }, () => {
  it('are exported by two Installations and imported as a list by a third', async () => {
    await apply('target-exports')
    await stage.cluster.waitUntil('installations', 'on-made', (one) => one?.status?.phase === 'Succeeded', PATIENCE_MS)
    expect(await deployed('made-0')).toEqual({ cluster: 'made-east', side: 'east' })
    expect(await deployed('made-1')).toEqual({ cluster: 'made-far', side: 'far' })
  })

  it('that are optional are passed to a sub-installation when they exist', async () => {
    const first = await success('optional-targets', 'optional')
    expect(await deployed('optional')).toEqual({ single: 'north' })
    await success('optional-targets-list', 'optional', first)
    expect(await deployed('optional')).toEqual({ 'several-0': 'south', 'several-1': 'north' })
  })

  // In a sub-installation a Target is a copy with a generated name, as in Landscaper. So the manifests show the name of
  // the Target's ServiceAccount.
  it.each([
    ['items', true],
    ['ref', false],
    ['subs', true],
    ['forward', false],
  ])('in a map receive their deployments: %s', async (how, isChanged) => {
    const first = await success(`target-map-${how}`, `map-${how}`)
    const up = { cluster: 'north', text: 'to the north' }
    expect(await deployed(`map-${how}-up`)).toEqual(up)
    expect(await deployed(`map-${how}-down`)).toEqual({ cluster: 'south', text: 'to the south' })
    if (!isChanged) return
    // Replaces one Target: Pawl deletes its ConfigMap, and keeps the ConfigMaps of the other Targets.
    const targets = [{ name: 'regions', targetMap: { up: 'north', aside: 'west' } }]
    await kubectl(
      'patch',
      'inst',
      `map-${how}`,
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { imports: { targets } } }),
    )
    expect((await again(first)).status).toMatchObject({ phase: 'Succeeded' })
    expect(await deployed(`map-${how}-up`)).toEqual(up)
    expect(await deployed(`map-${how}-aside`)).toEqual({ cluster: 'west', text: 'to the west' })
    expect(await deployed(`map-${how}-down`)).toBeUndefined()
  })

  it('in a map come from exports of siblings', async () => {
    await success('target-map-composed', 'map-composed')
    for (const key of ['up', 'down', 'aside'])
      expect(await deployed(`map-composed-${key}`)).toMatchObject({ cluster: 'kubernetes-cluster' })
  })
})

describe.concurrent('sub-installations', { timeout: LIMIT_MS }, () => {
  it('pass a name on, and are deleted with their objects when the blueprint no longer lists them', async () => {
    const first = await success('sub-installations', 'book')
    const pages = ['book-page', 'book-page-x', 'book-page-x-x']
    expect(await exported('book-names')).toEqual(pages.map((page) => `${page}-x`))
    for (const page of pages) expect(await deployed(page)).toEqual({ book: 'guided-tour' })
    const fewer = await success('sub-installations-fewer', 'book', first)
    expect([...(await subsOf(stage.cluster, 'book')).keys()]).toEqual(['page-1'])
    expect([await deployed(pages[0]!), await deployed(pages[1]!), await deployed(pages[2]!)]).toEqual([
      { book: 'guided-tour' },
      undefined,
      undefined,
    ])
    await kubectl('patch', 'dataobject', 'book-name', '--type=merge', '-p', '{"data": "book-cover"}')
    await again(fewer)
    expect(await exported('book-names')).toEqual(['book-cover-x'])
    expect(await deployed('book-page')).toBeUndefined()
    await gone('book')
    expect(await deployed('book-cover')).toBeUndefined()
  })

  it.each([
    ['chain', 'a,b,c,d'],
    ['join', 'abcd'],
  ])('run in the order of their data dependencies: %s', async (graph, path) => {
    await success(`order-${graph}`, `order-${graph}`)
    expect(await exported(`order-${graph}-path`)).toBe(path)
  })

  it.each([
    ['ring', /import from each other: (a -> c -> b -> a|a -> b -> c -> a)/],
    ['conflict', /same/],
  ])('with invalid imports or exports fail the job of their parent: %s', async (graph, message) => {
    const failed = await end(`order-${graph}`, `order-${graph}`)
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect(failed.status?.lastError?.message).toMatch(message)
    expect((await subsOf(stage.cluster, `order-${graph}`)).size).toBe(0)
  })

  it('get blueprints from referenced components, and templates list the resources of the components', async () => {
    await success('components', 'train')
    expect(await exported('train-list')).toBe('locomotive-2.1.0-2.1.0')
    expect(await deployed('train')).toMatchObject({
      component: 'example.org/tour/train',
      tons: '35',
      tools: 'shovel',
      parts: expect.stringMatching(
        /boiler:\s+host: registry.example.org\s+repository: engine\/boiler\s+tag: "7"/,
      ) as string,
    })
  })
})
