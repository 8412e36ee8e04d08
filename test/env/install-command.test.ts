// `pawl install --dry-run` and real Helm render the same objects.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { chartValues } from '../../worker/cli/install/chart-values.ts'
import { renderChart } from '../../worker/cli/install/render-chart.ts'
import { CHART_NAMESPACE as NAMESPACE, CHART_VARIANTS } from '../support/chart/variants.ts'
import { registryBinary } from '../support/registries/registry-binaries.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const RELEASE = { name: 'blue', namespace: NAMESPACE }
const SETS: readonly string[] = [
  'wings={landscaper,chaos},worker.replicas=3',
  'nodeSelector.kubernetes\\.io/os=linux,podAnnotations.a=1\\,2',
  'extraWorkers[0].name=x,extraWorkers[0].replicas=0,extraWorkers[0].args={--only=execution}',
  'image.tag=null,tolerations[0].operator=Exists,tolerations[0].tolerationSeconds=1000000',
  'controllers={a.ts,b.ts},fullnameOverride=x',
]

let helm: string
let folder: string

// Long, because Helm is built here if it is not in the cache.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-install-'))
  helm = await registryBinary('helm')
}, 1_800_000)
afterAll(() => rm(folder, { recursive: true }))

async function run(file: string, ...args: string[]): Promise<readonly unknown[]> {
  const { stdout } = await promisify(execFile)(file, args, { maxBuffer: 64 * 1024 * 1024 })
  return parseAllDocuments(stdout).flatMap((one) => (one.toJS() === null ? [] : [one.toJS() as unknown]))
}

async function byHelm(...flags: string[]): Promise<readonly unknown[]> {
  const place = ['--namespace', RELEASE.namespace, '--kube-version', '1.34.4']
  return await run(helm, 'template', RELEASE.name, join(ROOT, 'deploy/chart'), ...place, ...flags)
}

async function valuesFile(name: string, values: object): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, JSON.stringify(values))
  return file
}

/** The objects in an order that does not depend on the renderer. */
function sorted(objects: readonly unknown[]): readonly string[] {
  return objects.map((one) => JSON.stringify(one)).sort()
}

describe('pawl install', () => {
  it.each(CHART_VARIANTS)('renders the objects that Helm renders with the values %j', async (values) => {
    const file = await valuesFile('variant.json', values)
    const rendered = await renderChart(RELEASE, await chartValues({ files: [file], sets: [] }))
    expect(rendered.length).toBeGreaterThan(3)
    expect(sorted(rendered)).toEqual(sorted(await byHelm('--values', file)))
  })

  it.each(SETS)('reads --set %s as Helm does', async (set) => {
    const rendered = await renderChart(RELEASE, await chartValues({ files: [], sets: [set] }))
    expect(sorted(rendered)).toEqual(sorted(await byHelm('--set', set)))
  })

  it('gives precedence to later files, and to --set, as Helm does', async () => {
    const first = await valuesFile('a.json', { worker: { replicas: 3 }, bridge: { replicas: 3 }, cluster: 'a' })
    const second = await valuesFile('b.json', {
      bridge: { replicas: 4 },
      nodeSelector: { b: 'c' },
      priorityClassName: null,
    })
    const flags = ['--values', first, '--values', second, '--set', 'worker.replicas=5']
    const printed = await run(
      join(ROOT, 'worker/pawl.js'),
      ...['install', '--dry-run', '--no-crds', '--namespace', RELEASE.namespace, '--name', RELEASE.name, ...flags],
    )
    expect(sorted(printed)).toEqual(sorted(await byHelm(...flags)))
  })

  it('prints the CRDs of the enabled wings first', async () => {
    const printed = await run(join(ROOT, 'worker/pawl.js'), 'install', '--dry-run', '--set', 'wings={chaos}')
    const kinds = (printed as readonly { kind: string }[]).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'CustomResourceDefinition')).toHaveLength(3)
    expect(kinds.lastIndexOf('CustomResourceDefinition')).toBe(2)
    expect(kinds.at(-1)).toBe('Deployment')
  })
})
