// Numbers of every form in a manifest arrive on the target as `kubectl apply` of the same text delivers them. Source: docs/adr/0062.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import { readYaml } from '../../activities/yaml/read-yaml.ts'
import { readJson, writeJson } from '../../workflows/kit/index.ts'
import { useTargetStage } from '../activities/landscaper/deploy/manifest/target-stage.ts'
import { DRIFTER, Twins, useTwins } from './drift-stage.ts'
import { byForm, SEED } from '../support/matrix/form.ts'

const { kubectlPath, kubeconfigPath } = inject('servers')
const stage = useTargetStage(kubeconfigPath, 'manifest-numbers')
const twins = useTwins(stage)
const run = promisify(execFile)
const COUNT = byForm(300, 4000)

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pawl-numbers-'))
})
afterAll(async () => {
  await rm(dir, { recursive: true })
})

/** Literals that both YAML and users know: identifiers, timestamps in nanoseconds, quotas, hashes, ratios, versions. */
const literal = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }).map(String),
  fc.bigInt({ min: 2n ** 63n, max: 2n ** 70n }).map(String),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => String(value)),
  fc.tuple(fc.integer(), fc.nat(999)).map(([whole, part]) => `${whole}.${String(part).padStart(3, '0')}`),
  fc.tuple(fc.nat(99), fc.integer({ min: -30, max: 30 })).map(([digits, power]) => `${digits}e${power}`),
  fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map((value) => `0x${value.toString(16)}`),
  fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map((value) => `0${value.toString(8)}`),
  fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map((value) => `"${value}"`),
)

async function specOf(namespace: string, name: string): Promise<unknown> {
  const args = [`--kubeconfig=${kubeconfigPath}`, '-n', namespace, 'get', 'drifters', name, '-o', 'json']
  const { stdout } = await run(kubectlPath, args)
  return (readJson(stdout) as { readonly spec: unknown }).spec
}

describe('a manifest with numbers of every form', () => {
  it(`arrives as kubectl apply delivers the same text, and its next job writes nothing (PAWL_SEED=${SEED})`, async () => {
    const literals = ['9007199254740993', '1.0', '-0', '1e3', ...fc.sample(literal, { seed: SEED, numRuns: COUNT })]
    const spec = literals.map((text, index) => `  n${index}: ${text}`).join('\n')
    const file = join(dir, 'drifter.yaml')
    await writeFile(file, `apiVersion: ${DRIFTER}\nkind: Drifter\nmetadata: { name: numbers }\nspec:\n${spec}\n`)
    await run(kubectlPath, [`--kubeconfig=${kubeconfigPath}`, '-n', twins, 'apply', '-f', file])

    const sample = { apiVersion: DRIFTER, kind: 'Drifter', spec: readYaml(`\n${spec}`) }
    const ours = new Twins(stage, 'numbers', { sample })
    await ours.job()
    const delivered = await specOf(stage.namespace, 'numbers')
    expect(delivered).toEqual(await specOf(twins, 'numbers'))
    expect(writeJson(delivered)).toContain('"n0":9007199254740993')

    stage.kube.requests = []
    await ours.job()
    expect(stage.kube.writes).toEqual([])
  })
})
