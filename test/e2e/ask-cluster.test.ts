// Tests that a new user understands and controls a cluster of many Installations with the commands in README and their
// help: which are not ready and why, which edit broke an Installation, which finalizer blocks a deletion, and which part
// of Pawl does not work. docs/guides/debug.md shows the output of the commands.
// Source: issue "Ask Pawl", "Shown by".

import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { API, failingItem, installation, OPERATION, waitingItem } from '../support/cluster/cluster.ts'
import { type Ended, runCommandWith, startCommand } from '../support/pawl/run-command.ts'
import { useStage } from '../support/pawl/stage.ts'
import { byForm } from '../support/matrix/form.ts'
import { deploying, sub } from '../support/landscaper/sub-installations.ts'

const NAMESPACE = 'ask-cluster'
const WELL = byForm(13, 43)
const IMPORTED = [{ name: 'size', type: 'data', schema: { type: 'number' } }]
// Changes reach the journal later than the API server.
const LATER = { timeout: 60_000, interval: 500 }
const stage = useStage(NAMESPACE)
/** The commands and their output, for docs/guides/debug.md. */
const transcript: string[] = []

beforeAll(async () => {
  const { cluster } = stage
  const imports = { data: [{ name: 'size', dataRef: 'sizes' }] }
  const part = sub('part', { blueprint: deploying(failingItem('db')) })
  const all = [
    ...Array.from({ length: WELL }, (_, index) => installation(`app-${index + 1}`, [{ name: 'own' }])),
    installation('shop', [{ name: 'db' }, failingItem('app', ['db'])]),
    installation('billing', [], { spec: { imports }, blueprint: { imports: IMPORTED } }),
    installation('search', [{ name: 'index', type: 'example.org/theirs' }]),
    installation('mail', [{ name: 'queue' }]),
    installation('wedged', [{ name: 'own' }]),
    installation('slow', [waitingItem('one')]),
    installation('tree', [{ name: 'own' }], { blueprint: { subinstallations: [part] } }),
  ]
  await inParallel(all, 10, async (one) => {
    await cluster.create(one, 'installations')
  })
  const open = ['search', 'slow']
  for (const { metadata } of all) if (!open.includes(metadata.name)) await cluster.waitUntilFinished(metadata.name)
  for (const name of open)
    await cluster.waitUntil('installations', name, (object) => object?.status?.phase === 'Progressing')
  // This edit breaks an Installation that had succeeded.
  const { spec } = installation('mail', [failingItem('queue')])
  const path = resourcePath({ apiVersion: API, plural: 'installations' }, NAMESPACE, 'mail')
  await cluster.kube.request('PATCH', path, {
    body: { metadata: { annotations: { [OPERATION]: 'reconcile' } }, spec },
    contentType: 'application/merge-patch+json',
    query: { fieldManager: 'kubectl-edit' },
  })
  await cluster.waitUntil('installations', 'mail', (object) => object?.status?.phase === 'Failed')
  const { metadata } = await cluster.waitUntil('installations', 'wedged', (object) => object !== undefined)
  await cluster.patch('installations', 'wedged', {
    metadata: { finalizers: [...(metadata.finalizers ?? []), 'backup.example.org/keep'] },
  })
  await cluster.delete('installations', 'wedged')
}, 300_000)
afterAll(async () => {
  const file = process.env['PAWL_TRANSCRIPT']
  if (file !== undefined) await writeFile(file, transcript.join('\n'))
})

it('pawl get shows the Installations that are not ready', async () => {
  await expect.poll(async () => (await asked('get', 'inst')).stdout, LATER).toMatch(/^wedged .*backup\.example\.org/m)
  const { stdout } = await shown('get', 'inst')
  const rows = stdout.trimEnd().split('\n').slice(1)
  // The tree has a sub-installation.
  expect(rows).toHaveLength(WELL + 7 + 1)
  const others = rows.filter((row) => !/^app-\d+ +Succeeded /.test(row))
  expect(others.map((row) => row.split(/ +/).slice(0, 2).join(' '))).toEqual([
    ...['billing Failed', 'mail Failed'],
    expect.stringMatching(/^part-\w+ Failed/),
    ...['search Progressing', 'shop Failed', 'slow Progressing', 'tree Failed'],
    expect.stringMatching(/^wedged /),
  ])
  expect(rows.find((row) => row.startsWith('slow'))).toMatch(/DeployItem ask-cluster\/slow-one-\w+$/)
})

it('pawl why shows why Installations are not ready', async () => {
  const item = await shown('why', 'inst/shop')
  expect(item.stdout).toMatch(
    /^Installation ask-cluster\/shop is Failed: DeployItem ask-cluster\/shop-app-\w+: the configuration requests phase Failed\.\n/,
  )
  expect((await shown('why', 'inst/billing')).stdout).toContain('DataObject "ask-cluster/sizes" does not exist')
  expect((await shown('why', 'inst/search')).stdout).toMatch(
    /^Installation \S+ is Progressing: DeployItem ask-cluster\/search-index-\w+: spec.type: no deployer has picked up type "example.org\/theirs"; expected \S+, \S+\/mock\.\n/,
  )
  await expect
    .poll(async () => (await asked('why', 'inst/slow')).stdout, LATER)
    .toMatch(
      /DeployItem ask-cluster\/slow-one-\w+: a deployer of type "landscaper.gardener.cloud\/mock" works on it since /,
    )
  expect((await asked('why', 'inst/wedged')).stdout).toMatch(
    /^Installation ask-cluster\/wedged is being deleted since \S+; another controller must remove the finalizer backup.example.org\/keep\./,
  )
})

it('pawl trace, graph and why follow the jobs of a tree to the item that failed', async () => {
  const tree = (await asked('trace', 'inst/tree')).stdout
  expect(tree).toMatch(/^Installation ask-cluster\/tree +Failed/m)
  expect(tree).toMatch(/^├─ Installation ask-cluster\/part-\w+ +Failed/m)
  const [, item = ''] = /DeployItem ask-cluster\/(part-\S+) +Failed/.exec(tree) ?? []
  const why = (await asked('why', 'di', item)).stdout
  // On a busy machine the bridge may see the write too late to know its field manager.
  expect(why).toMatch(
    / (?:field manager \S+|a client other than Pawl) created Installation ask-cluster\/tree: .*operation": reconcile/,
  )
  expect(why).toContain(`DeployItem ask-cluster/${item} is Failed: the configuration requests phase Failed.\n`)
  const told = /^Installation ask-cluster\/tree is Failed: DeployItem ask-cluster\/part-.*requests phase Failed\.\n/
  expect((await asked('why', 'inst/tree')).stdout).toMatch(told)
  expect((await asked('graph', 'inst/tree')).stdout).toMatch(/^[├└]─ Installation ask-cluster\/part-\w+ {2}Failed/m)

  const followed = startCommand(environment(), ...argumentsOf(['trace', 'inst/slow', '-w']))
  const slow = await stage.cluster.waitUntilItems('slow', ['one'], (one) => one?.status?.phase === 'Progressing')
  await stage.cluster.finishItem(slow.get('one')!, 'Succeeded')
  expect((await followed).stdout).toMatch(/Installation ask-cluster\/slow {2,}Succeeded(?: |\n)/)
})

it('pawl why and pawl diff show which edit broke an Installation, who made it, and the differences since then', async () => {
  const why = await shown('why', 'inst/mail')
  expect(why.stdout).toMatch(
    / field manager kubectl-edit changed Installation ask-cluster\/mail: .*spec \(generation 2 -> 3\); it manages .*spec\.blueprint/,
  )
  expect(why.stdout).toMatch(/^Installation ask-cluster\/mail is Failed: DeployItem ask-cluster\/mail-queue-\w+: /)
  const diff = await shown('diff', 'inst/mail')
  expect(diff.stdout).toMatch(/\nresult +Succeeded after \S+ +Failed after \S+\n/)
  expect(diff.stdout).toContain('spec (generation 2 -> 3)')
})

it('a user interrupts, pauses, resumes and requests jobs, with the name of the user and the reason', async () => {
  const { cluster } = stage
  const interrupted = await asked('interrupt', 'inst/search', '--reason', 'nobody deploys theirs')
  expect(interrupted.stdout).toMatch(
    /^installation "ask-cluster\/search": the running job is interrupted, requested by \S+/,
  )
  const failed = await cluster.waitUntilFinished('search')
  expect(failed.status?.phase).toBe('Failed')
  expect((await asked('interrupt', 'inst/search')).stderr).toContain('has no running job (phase Failed)')

  const paused = await asked('pause', 'inst/search', '--reason', 'a freeze')
  expect(paused.stdout).toMatch(/^installation "ask-cluster\/search" is paused by \S+: no job starts\n.*pawl resume/)
  expect((await asked('pause', 'inst/search')).stdout).toContain('is already paused: a freeze')
  for (const words of [
    ['get', 'inst', '-o', 'wide'],
    ['why', 'inst/search'],
  ])
    await expect
      .poll(async () => (await asked(...words)).stdout, LATER)
      .toMatch(/paused by (?!somebody|field)\S+ \(not verified\) since \S+: a freeze/)
  // The command shows the ID of the failed job, not of the run that has reported the pause.
  expect((await asked('get', 'inst', '-o', 'wide')).stdout).toContain(failed.status?.jobID)
  expect((await asked('pause', 'di', 'x')).code).not.toBe(0)
  expect((await asked('resume', 'inst/search')).stdout).toContain('search" is resumed by ')
  expect((await asked('resume', 'inst/search')).stdout).toContain('search" is not paused')

  const reconciled = await asked('reconcile', 'inst/tree', '--reason', 'the image is there', '-o', 'json')
  expect(JSON.parse(reconciled.stdout)).toMatchObject({ asked: 'asked', name: 'tree', why: 'the image is there' })
  await expect
    .poll(async () => (await asked('history', 'inst/tree')).stdout, LATER)
    .toMatch(/reconcile-reason": by \S+: the image is there\n/)
  const part = (await cluster.list('installations')).find(({ metadata }) => metadata.name.startsWith('part-'))
  const ofPart = await asked('reconcile', 'inst', part?.metadata.name ?? '')
  expect(ofPart.code).toBe(1)
  expect(ofPart.stderr).toContain('pawl reconcile installation/tree')
}, 300_000)

it('pawl delete names the finalizer that blocks a deletion, and removes it with --force', async () => {
  const held = await shown('delete', 'inst/wedged')
  expect(held.code).toBe(3)
  expect(held.stdout).toMatch(
    /^ {4}finalizer "backup\.example\.org\/keep", set by "\S+": the program that set it must remove it/m,
  )
  expect(held.stdout).toContain('pawl delete installation/wedged -n ask-cluster --force --reason TEXT')
  const forced = await shown('delete', 'inst/wedged', '--force', '--reason', 'the backup is long gone')
  expect(forced.stdout).toMatch(/wedged": removed finalizer .*keep\n.*wedged" is deleted\n$/)
  const events = await stage.cluster.list('events', 'v1')
  expect(events.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(
      / removes all finalizers of the object and of all objects below it: the backup is long gone$/,
    ),
  )
})

it('pawl doctor reports that all dependencies are healthy, and names each unavailable dependency', async () => {
  const healthy = ['--temporal-address', stage.servers.temporalAddress]
  // The bridge's leases are short. After a short stall of the bridge they expire, and doctor reports it.
  const { stdout } = await vi.waitFor(async () => {
    const answer = await asked('doctor', ...healthy)
    expect(answer).toMatchObject({ code: 0, stderr: '' })
    return answer
  }, LATER)
  const parts = stdout.split('\n').flatMap((line) => /^(\w+) +ok /.exec(line)?.[1] ?? [])
  expect(parts).toEqual(
    expect.arrayContaining([
      ...['journal', 'clocks', 'migrations', 'bridge', 'kubernetes', 'kinds', 'rights', 'temporal', 'attributes'],
    ]),
  )
  const elsewhere = await asked('doctor', '--temporal-address', '127.0.0.1:1', '--cluster', 'other')
  expect(elsewhere.code).toBe(1)
  expect(elsewhere.stdout).toMatch(/^bridge +bad +no bridge has ever followed cluster "other"/m)
  expect(elsewhere.stdout).toMatch(/^temporal +bad +127\.0\.0\.1:1, namespace default: /m)
}, 300_000)

async function shown(...words: readonly string[]) {
  const answer = await asked(...words)
  const quoted = words.map((word) => (word.includes(' ') ? `"${word}"` : word))
  transcript.push(`$ pawl ${quoted.join(' ')}\n${answer.stdout}`)
  return answer
}

const STEERING = ['interrupt', 'pause', 'resume', 'reconcile', 'delete']

function argumentsOf(words: readonly string[]): readonly string[] {
  const database = STEERING.includes(words[0] ?? '') ? [] : ['--database-url', stage.pawl.databaseUrl]
  return [...words, '-n', NAMESPACE, ...database]
}

async function asked(...words: readonly string[]): Promise<Ended> {
  return await runCommandWith(environment(), ...argumentsOf(words))
}

function environment() {
  return { KUBECONFIG: stage.servers.kubeconfigPath }
}
