// Tests the commands of pawl on real jobs: queries of failed and waiting jobs, the commands with which a user controls
// jobs, and `pawl doctor`.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it, vi } from 'vitest'
import { failingItem, installation, OPERATION, waitingItem } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, sub } from '../support/landscaper/sub-installations.ts'

const PAWL = fileURLToPath(new URL('../../worker/pawl.js', import.meta.url))
const IMPORTED = [{ name: 'size', type: 'data', schema: { type: 'number' } }]
const HELD = {
  metadata: { name: 'held', finalizers: ['example.org/keep'], annotations: { [OPERATION]: 'reconcile' } },
}
const stage = useStage('ask-journal')

it('pawl trace, why, graph and get show why jobs failed, why they started, and which objects they wait for', async () => {
  const { cluster } = stage
  const part = sub('part', { blueprint: deploying(failingItem('db')) })
  const blueprint = { subinstallations: [part] }
  await cluster.create(installation('shop', [{ name: 'own' }], { blueprint }), 'installations')
  await cluster.create(installation('slow', [waitingItem('one')]), 'installations')
  await cluster.create(installation('foreign', [{ name: 'x', type: 'example.org/theirs' }]), 'installations')
  const imports = { data: [{ name: 'size', dataRef: 'nowhere' }] }
  await cluster.create(
    installation('lacking', [], { spec: { imports }, blueprint: { imports: IMPORTED } }),
    'installations',
  )
  await cluster.create({ ...installation('held', []), ...HELD }, 'installations')
  await cluster.waitUntilFinished('held')
  await cluster.delete('installations', 'held')
  await cluster.waitUntilFinished('shop')
  const slow = await cluster.waitUntilItems('slow', ['one'], (item) => item?.status?.phase === 'Progressing')
  // Changes reach the journal later than the API server.
  const told = { timeout: 60_000, interval: 500 }

  await expect
    .poll(async () => await pawl('trace', 'inst/shop'), told)
    .toMatch(/^Installation ask-journal\/shop +Failed/m)
  const tree = await pawl('trace', 'inst/shop')
  expect(tree).toMatch(/^├─ Installation ask-journal\/part-\w+ +Failed/m)
  const [, item = ''] = /DeployItem ask-journal\/(part-\S+) +Failed/.exec(tree) ?? []

  const why = await pawl('why', 'di', item)
  expect(why).toMatch(/^\S+ somebody beside Pawl's runs created Installation ask-journal\/shop .*operation": reconcile/)
  expect(why).toContain(`DeployItem ask-journal/${item} is Failed.`)
  const found = /Execution ask-journal\/part-\w+ says: .*the configuration asks for phase Failed/
  expect(await pawl('why', 'inst/shop')).toMatch(found)

  const name = slow.get('one')?.metadata.name ?? ''
  await expect
    .poll(async () => await pawl('why', 'inst/slow'), told)
    .toContain(`The deployer of type landscaper.gardener.cloud/mock works on DeployItem ask-journal/${name}`)
  await expect
    .poll(async () => await pawl('why', 'inst/foreign'), told)
    .toMatch(
      /No deployer has picked DeployItem ask-journal\/foreign-x-\w+ up since \S+: .* its type, example.org\/theirs, runs/,
    )
  await expect
    .poll(async () => await pawl('why', 'inst/lacking'), told)
    .toContain('found no DataObject ask-journal/nowhere')
  await expect
    .poll(async () => await pawl('why', 'inst/held'), told)
    .toMatch(
      /Installation ask-journal\/held is being deleted since \S+; it goes when these finalizers are gone: example.org\/keep\./,
    )
  expect(await pawl('graph', 'inst/shop')).toMatch(/^[├└]─ Installation ask-journal\/part-\w+ {2}Failed/m)
  expect(await pawl('get', 'inst')).toMatch(/^slow +Progressing .*Execution ask-journal\/slow$/m)

  const followed = pawl('trace', 'inst/slow', '-w')
  await cluster.finishItem(slow.get('one')!, 'Succeeded')
  expect(await followed).toMatch(/ {2}Installation ask-journal\/slow {2}Succeeded\n/)
}, 300_000)

it('a user interrupts, pauses and requests jobs and forces a blocked deletion, with the name of the user and the reason', async () => {
  const { cluster } = stage
  const interrupted = await person('interrupt', 'inst/foreign', '--reason', 'nobody deploys theirs')
  expect(interrupted.stdout).toMatch(/^the job of Installation ask-journal\/foreign is interrupted by \S+/)
  const failed = await cluster.waitUntilFinished('foreign')
  expect(failed.status?.phase).toBe('Failed')
  expect((await person('interrupt', 'inst/foreign')).stderr).toContain('has no job that runs (phase Failed)')

  const paused = await person('pause', 'inst/foreign', '--reason', 'a freeze')
  expect(paused.stdout).toMatch(
    /^Installation ask-journal\/foreign is paused by \S+: no job of it begins\n.*pawl resume/,
  )
  expect((await person('pause', 'inst/foreign')).stdout).toContain('was paused before: a freeze')
  for (const words of [
    ['get', 'inst', '-o', 'wide'],
    ['why', 'inst/foreign'],
  ])
    await expect
      .poll(async () => await pawl(...words), { timeout: 60_000, interval: 500 })
      .toMatch(/paused by (?!somebody|field)\S+ \(not verified\) since \S+: a freeze/)
  // The command shows the ID of the failed job, not of the run that has reported the pause.
  expect(await pawl('get', 'inst')).toContain(failed.status?.jobID)
  expect((await person('pause', 'di', 'x')).code).not.toBe(0)
  expect((await person('resume', 'inst/foreign')).stdout).toContain('foreign goes on, by ')
  expect((await person('resume', 'inst/foreign')).stdout).toContain('foreign is not paused')

  const asked = await person('reconcile', 'inst/shop', '--reason', 'the image is there', '-o', 'json')
  expect(JSON.parse(asked.stdout)).toMatchObject({ asked: 'asked', name: 'shop', why: 'the image is there' })
  await expect
    .poll(async () => await pawl('history', 'inst/shop'), { timeout: 60_000, interval: 500 })
    .toMatch(/reconcile-reason": by \S+: the image is there\n/)
  const part = (await cluster.list('installations')).find(({ metadata }) => metadata.name.startsWith('part-'))
  const ofPart = await person('reconcile', 'inst', part?.metadata.name ?? '')
  expect(ofPart.code).toBe(1)
  expect(ofPart.stderr).toContain('pawl reconcile installation/shop')

  const held = await person('delete', 'inst/held')
  expect(held.code).toBe(3)
  expect(held.stdout).toMatch(/^ {4}finalizer example.org\/keep \(set by \S+\) is for whoever it belongs to/m)
  expect(held.stdout).toContain('pawl delete installation/held -n ask-journal --force --reason TEXT')
  const forced = await person('delete', 'inst/held', '--force', '--reason', 'its owner is gone')
  expect(forced.stdout).toMatch(/held lost .*keep\n.*held is gone\n$/)
  const events = await cluster.list('events', 'v1')
  expect(events.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/ takes all finalizers off, of the object and of all below it: its owner is gone$/),
  )
}, 300_000)

it('pawl doctor reports that all dependencies are healthy, and names each unavailable dependency', async () => {
  const { servers, pawl: own } = stage
  const [database, temporal] = [
    ['--database-url', own.databaseUrl],
    ['--temporal-address', servers.temporalAddress],
  ]
  // The bridge's leases are short. After a short stall of the bridge they expire, and doctor reports it.
  const isWell = async () => {
    const said = await person('doctor', ...database, ...temporal)
    expect(said).toMatchObject({ code: 0, stderr: '' })
    return said
  }
  const well = await vi.waitFor(isWell, { timeout: 60_000, interval: 500 })
  for (const part of [
    'journal',
    'clocks',
    'migrations',
    'bridge',
    'kubernetes',
    'kinds',
    'rights',
    'temporal',
    'attributes',
  ])
    expect(well.stdout).toMatch(new RegExp(`^${part} +ok `, 'm'))
  const elsewhere = await person('doctor', ...database, '--temporal-address', '127.0.0.1:1', '--cluster', 'other')
  expect(elsewhere.code).toBe(1)
  expect(elsewhere.stdout).toMatch(/^bridge +bad +none has ever followed a kind of cluster other/m)
  expect(elsewhere.stdout).toMatch(/^temporal +bad +127\.0\.0\.1:1, namespace default: /m)
}, 300_000)

async function person(...words: readonly string[]) {
  const env = { ...process.env, KUBECONFIG: stage.servers.kubeconfigPath }
  const args = [PAWL, ...words, '-n', 'ask-journal']
  return await new Promise<{ code: unknown; stdout: string; stderr: string }>((done) => {
    execFile(process.execPath, args, { timeout: 90_000, env }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    )
  })
}

async function pawl(...words: readonly string[]): Promise<string> {
  const args = [PAWL, ...words, '-n', 'ask-journal', '--database-url', stage.pawl.databaseUrl]
  return await new Promise((done, fail) => {
    execFile(process.execPath, args, { timeout: 90_000 }, (error, stdout) => {
      if (error === null) done(stdout)
      else fail(new Error(error.message))
    })
  })
}
