// Counts the modules that commands load: 1,620 modules take about 300 ms, and users wait for them. Times would vary.

import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { scratchFolder } from '../dev/scratch.ts'

const CLI = fileURLToPath(new URL('../../../worker/cli.ts', import.meta.url))
const TELLER = new URL('print-loaded-modules.ts', import.meta.url).href
const NOTHING = 'postgresql://pawl@127.0.0.1:1/nothing'
const ROWS = ['-n', 'team-a', '--database-url', NOTHING]

const KUBERNETES = '@kubernetes/client-node'
/** Not needed by any query. */
const NEVER = [
  '@temporalio/common',
  '@temporalio/client',
  '@temporalio/worker',
  '@grpc/grpc-js',
  '@viz-js/viz',
  'webpack',
  'ajv',
  'typescript',
  'hot-shots',
]

interface Loaded {
  readonly modules: number
  /** By package; '' is Pawl. */
  readonly packages: ReadonlyMap<string, number>
  readonly stderr: string
}

function load(args: readonly string[], more: Readonly<Record<string, string>> = {}): Loaded {
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', PAWL_CACHE: '/nonexistent', ...more }
  const flags = ['--disable-warning=ExperimentalWarning', '--import', TELLER]
  const { stderr } = spawnSync(process.execPath, [...flags, CLI, ...args], { encoding: 'utf8', env })
  const lines = stderr.trimEnd().split('\n')
  const urls = JSON.parse(lines.at(-1) ?? '') as readonly string[]
  const packages = new Map<string, number>()
  for (const url of urls) {
    // A package.json may be read without loading the package.
    if (url.endsWith('.json')) continue
    const [, name = ''] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? []
    packages.set(name, (packages.get(name) ?? 0) + 1)
  }
  return { modules: urls.length, packages, stderr: lines.slice(0, -1).join('\n') }
}

describe('a query of a database', { timeout: 120_000 }, () => {
  it.each([
    [['get', 'inst']],
    [['why', 'inst/shop']],
    [['trace', 'inst/shop']],
    [['trace', 'inst/shop', '-w']],
    [['history', 'inst/shop']],
    [['diff', 'inst/shop']],
    [['graph', 'exec/shop']],
  ])('%j loads fewer than 590 modules, and no Kubernetes client', (words) => {
    const { modules, packages, stderr } = load([...words, ...ROWS])
    expect(stderr).toContain('the journal at 127.0.0.1:1 does not answer')
    for (const name of [KUBERNETES, 'undici', 'yaml', ...NEVER]) expect([...packages.keys()]).not.toContain(name)
    // The counting works.
    expect(packages.get('kysely')).toBeGreaterThan(0)
    expect(modules).toBeLessThan(590)
  })
})

describe('a query of pawl api', { timeout: 120_000 }, () => {
  it('loads no database client, and no Kubernetes library for a plain kubeconfig', async () => {
    const { modules, packages, stderr } = load([...(await overApi({ token: 'abc' }))])
    expect(stderr).toContain('pawl api at http://127.0.0.1:1')
    for (const name of [KUBERNETES, 'kysely', 'pg', ...NEVER]) expect([...packages.keys()]).not.toContain(name)
    expect(modules).toBeLessThan(465)
  })

  it('loads the Kubernetes library for a kubeconfig with an auth provider', async () => {
    const { packages } = load([...(await overApi({ 'auth-provider': { name: 'gcp' } }))])
    expect(packages.get(KUBERNETES)).toBeGreaterThan(0)
  })
})

describe('a steering command', { timeout: 120_000 }, () => {
  it('loads no database client, and no Kubernetes library for a plain kubeconfig', async () => {
    const file = await kubeconfig({ token: 'abc' })
    const { modules, packages, stderr } = load(['pause', 'inst/shop', '--kubeconfig', file])
    expect(stderr).toContain('no answer')
    for (const name of [KUBERNETES, 'kysely', 'pg', ...NEVER]) expect([...packages.keys()]).not.toContain(name)
    expect(modules).toBeLessThan(465)
  })
})

describe('an injector', { timeout: 120_000 }, () => {
  it('loads the Datadog client only with a metrics sink', async () => {
    const folder = await scratchFolder()
    const own = { CHAOS_INJECTOR_READINESS_FILE: join(folder, 'ready'), CHAOS_INJECTOR_STATE: join(folder, 'state') }
    const live = (...sink: readonly string[]) => {
      const target = ['--level', 'pod', '--target-containers', 'app;process://1']
      const args = ['injector', 'cpu-pressure', ...target, '--dry-run', '--deadline', '2020-01-01T00:00:00Z', ...sink]
      return load(args, { ...own, STATSD_URL: '127.0.0.1:8125' }).packages
    }
    expect([...live().keys()]).not.toContain('hot-shots')
    expect(live('--metrics-sink', 'datadog').get('hot-shots')).toBeGreaterThan(0)
  })
})

describe('completion', { timeout: 120_000 }, () => {
  it('of a known word loads no library except commander', () => {
    const { packages } = load(['__complete', '--', 'why', 'in'])
    expect([...packages.keys()].filter((name) => !['', 'commander', 'croner'].includes(name))).toEqual([])
  })
})

async function overApi(user: object): Promise<readonly string[]> {
  return ['get', 'inst', '--api-url', 'http://127.0.0.1:1', '--kubeconfig', await kubeconfig(user)]
}

async function kubeconfig(user: object): Promise<string> {
  const file = join(await scratchFolder(), 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    users: [{ name: 'me', user }],
    clusters: [{ name: 'here', cluster: { server: 'https://127.0.0.1:1' } }],
    contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
  }
  await writeFile(file, JSON.stringify(config))
  return file
}
