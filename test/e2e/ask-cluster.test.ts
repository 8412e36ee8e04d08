// Tests that a new user understands a cluster of 50 Installations with the commands in README and their help: which are
// not ready and why, which edit broke an Installation, and which finalizer blocks a deletion. docs/ask-cluster.md shows
// the output of the commands.
// Source: issue "Ask Pawl", "Shown by".

import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { API, failingItem, installation, OPERATION } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

const PAWL = fileURLToPath(new URL('../../worker/pawl.js', import.meta.url))
const NAMESPACE = 'ask-cluster'
const WELL = 45
const IMPORTED = [{ name: 'size', type: 'data', schema: { type: 'number' } }]
const stage = useStage(NAMESPACE)
/** The commands and their output, for docs/ask-cluster.md. */
const transcript: string[] = []

beforeAll(async () => {
  const { cluster } = stage
  const imports = { data: [{ name: 'size', dataRef: 'sizes' }] }
  const fifty = [
    ...Array.from({ length: WELL }, (_, index) => installation(`app-${index + 1}`, [{ name: 'own' }])),
    installation('shop', [{ name: 'db' }, failingItem('app', ['db'])]),
    installation('billing', [], { spec: { imports }, blueprint: { imports: IMPORTED } }),
    installation('search', [{ name: 'index', type: 'example.org/theirs' }]),
    installation('mail', [{ name: 'queue' }]),
    installation('wedged', [{ name: 'own' }]),
  ]
  await inParallel(fifty, 10, async (one) => {
    await cluster.create(one, 'installations')
  })
  for (const { metadata } of fifty) if (metadata.name !== 'search') await cluster.waitUntilFinished(metadata.name)
  await cluster.waitUntil('installations', 'search', (object) => object?.status?.phase === 'Progressing')
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

it('pawl get shows which of 50 Installations are not ready', async () => {
  await expect.poll(async () => (await asked('get', 'inst')).stdout, TOLD).toMatch(/^wedged .*backup\.example\.org/m)
  const { stdout } = await shown('get', 'inst')
  const rows = stdout.trimEnd().split('\n').slice(1)
  expect(rows).toHaveLength(WELL + 5)
  const others = rows.filter((row) => !/^app-\d+ +Succeeded /.test(row))
  expect(others.map((row) => row.split(/ +/).slice(0, 2).join(' '))).toEqual([
    ...['billing Failed', 'mail Failed', 'search Progressing', 'shop Failed'],
    expect.stringMatching(/^wedged /),
  ])
})

it('pawl why shows why three Installations are not ready', async () => {
  const item = await shown('why', 'inst/shop')
  expect(item.stdout).toMatch(/\n {2}DeployItem ask-cluster\/shop-app-\w+ is Failed.*\n/)
  expect(item.stdout).toContain('the configuration asks for phase Failed')
  expect((await shown('why', 'inst/billing')).stdout).toContain('found no DataObject ask-cluster/sizes')
  expect((await shown('why', 'inst/search')).stdout).toMatch(
    /No deployer has picked DeployItem ask-cluster\/search-index-\w+ up since \S+: .* its type, example.org\/theirs, runs/,
  )
})

it('pawl why and pawl diff show which edit broke an Installation, who made it, and the differences since then', async () => {
  const why = await shown('why', 'inst/mail')
  expect(why.stdout).toMatch(
    /^\S+ kubectl-edit \(as it calls itself\) changed Installation ask-cluster\/mail .*kubectl-edit holds .*spec\.blueprint/m,
  )
  expect(why.stdout).toMatch(/DeployItem ask-cluster\/mail-queue-\w+ is Failed/)
  const diff = await shown('diff', 'inst/mail')
  expect(diff.stdout).toMatch(/\nended +Succeeded after \S+ +Failed after \S+\n/)
  expect(diff.stdout).toContain('metadata.generation')
})

it('pawl delete names the finalizer that blocks a deletion, and removes it with --force', async () => {
  const held = await shown('delete', 'inst/wedged')
  expect(held.code).toBe(3)
  expect(held.stdout).toMatch(/^ {4}finalizer backup\.example\.org\/keep \(set by \S+\)/m)
  const forced = await shown('delete', 'inst/wedged', '--force', '--reason', 'the backup is long gone')
  expect(forced.stdout).toMatch(/wedged is gone\n$/)
  const file = process.env['PAWL_TRANSCRIPT']
  if (file !== undefined) await writeFile(file, transcript.join('\n'))
})

const TOLD = { timeout: 60_000, interval: 500 }

async function shown(...words: readonly string[]) {
  const answer = await asked(...words)
  const quoted = words.map((word) => (word.includes(' ') ? `"${word}"` : word))
  transcript.push(`$ pawl ${quoted.join(' ')}\n${answer.stdout}`)
  return answer
}

async function asked(...words: readonly string[]) {
  const env = { ...process.env, KUBECONFIG: stage.servers.kubeconfigPath }
  const database = words[0] === 'delete' ? [] : ['--database-url', stage.pawl.databaseUrl]
  const args = [PAWL, ...words, '-n', NAMESPACE, ...database]
  return await new Promise<{ code: unknown; stdout: string; stderr: string }>((done) => {
    execFile(process.execPath, args, { timeout: 90_000, env }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    )
  })
}
