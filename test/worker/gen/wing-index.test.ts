import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { format } from 'prettier'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { gen } from '../../../worker/gen.ts'
import type { AccessRule } from '../../../workflows/kit/index.ts'

let root: string
const read = (path: string) => readFile(join(root, path), 'utf8')
const write = async (path: string, text: string) => {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}
const run = async (check: boolean) => {
  const lines: string[] = []
  const code = await gen({ root, check, print: (line) => lines.push(line), complain: (line) => lines.push(line) })
  return { code, lines }
}

const SAID = `export const farmWing = {
  flags: {},
  workerRules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
}
`

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'pawl-wings-'))
  await mkdir(join(root, 'workflows/kit'), { recursive: true })
  await write('workflows/farm/wing.ts', SAID)
  await write('workflows/no-words/kind-of-nothing.ts', '')
  // Not loaded by the generator: it would need all that activities need.
  await write('activities/big-farm/wing.ts', "import 'nowhere'\nexport const bigFarm = { open() {} }\n")
  await write('activities/kube/wing.ts', 'not a wing')
})

afterEach(() => rm(root, { recursive: true }))

describe('the registries of wings', () => {
  it('list the value of each wing.ts, in the form of the project', async () => {
    expect((await run(false)).code).toBe(0)
    const [said, made] = [await read('workflows/wings.gen.ts'), await read('activities/wings.gen.ts')]
    expect(said).toContain("import { farmWing } from './farm/wing.ts'\n")
    expect(said).toContain('  farm: farmWing,\n')
    expect(made).toContain("import { bigFarm } from './big-farm/wing.ts'\n")
    expect(made).toContain("export const WINGS = {\n  'big-farm': bigFarm,\n} as const\n")
    for (const text of [said, made])
      expect(await format(text, { parser: 'typescript', semi: false, singleQuote: true, printWidth: 120 })).toBe(text)
    expect(await run(true)).toEqual({ code: 0, lines: [] })
  })

  it('are stale when a wing comes or goes', async () => {
    await run(false)
    await write('activities/zoo/wing.ts', 'export const zoo = { open() {} }\n')
    await rm(join(root, 'workflows/farm'), { recursive: true })
    const { code, lines } = await run(true)
    expect(code).toBe(1)
    expect(lines.filter((line) => line.startsWith('stale')).map((line) => line.split(':')[1])).toEqual([
      ' activities/wings.gen.ts',
      ' workflows/wings.gen.ts',
    ])
  })

  it('refuse a wing.ts that exports none, or more than one', async () => {
    await write('activities/zoo/wing.ts', 'export const one = 1\nexport const two = 2\n')
    await expect(run(false)).rejects.toThrow(
      'activities/zoo/wing.ts: found the exports one, two; expected exactly one, the wing',
    )
    await write('activities/zoo/wing.ts', 'const one = 1\n')
    await expect(run(false)).rejects.toThrow(
      'activities/zoo/wing.ts: found the exports (none); expected exactly one, the wing',
    )
  })
})

describe.each([
  ['programs', 'farmPrograms', 'PROGRAMS: readonly WingProgram[]', 'the list of its programs'],
  ['commands', 'farmCommands', 'COMMANDS: readonly WingCommands[]', 'the list of its commands'],
])('the registry of %s', (name, value, declared, expected) => {
  const registry = async () => await read(`activities/${name}.gen.ts`)

  it("lists the export of each wing's file, in the form of the project, and is empty without such files", async () => {
    expect((await run(false)).code).toBe(0)
    expect(await registry()).toContain(`export const ${declared} = []\n`)
    await write(`activities/big-farm/${name}.ts`, `export const ${value} = []\n`)
    await write(`activities/zoo/${name}.ts`, 'export const zoo: readonly unknown[] = []\n')
    expect((await run(true)).code).toBe(1)
    expect((await run(false)).code).toBe(0)
    const listed = await registry()
    expect(listed).toContain(`import { ${value} } from './big-farm/${name}.ts'\n`)
    expect(listed).toContain(`export const ${declared} = [...${value}, ...zoo]\n`)
    expect(await format(listed, { parser: 'typescript', semi: false, singleQuote: true, printWidth: 120 })).toBe(listed)
  })

  it('refuses a file that exports more than its list', async () => {
    await write(`activities/zoo/${name}.ts`, 'export const one = 1\nexport const two = 2\n')
    const message = `activities/zoo/${name}.ts: found the exports one, two; expected exactly one, ${expected}`
    await expect(run(false)).rejects.toThrow(message)
  })
})

it('the registry of pods has the declaration of each wing by its name', async () => {
  await run(false)
  expect(await read('activities/pods.gen.ts')).toContain('WingPods>> = {}\n')
  await write('activities/big-farm/pods.ts', 'export const farmPods = {}\n')
  expect((await run(true)).code).toBe(1)
  await run(false)
  const registry = await read('activities/pods.gen.ts')
  expect(registry).toContain("import { farmPods } from './big-farm/pods.ts'\n")
  expect(registry).toContain("= {\n  'big-farm': farmPods,\n}\n")
})

describe('the roles', () => {
  it("have a wing's own rules in the wing's role, and the engine's in the engine's", async () => {
    await run(false)
    const role = async (path: string) =>
      parse(await read(path)) as { metadata: { name: string }; rules: readonly AccessRule[] }
    const [ofWing, ofEngine] = [await role('deploy/rbac/farm/worker.yaml'), await role('deploy/rbac/worker.yaml')]
    expect(ofWing.metadata.name).toBe('pawl-worker-farm')
    expect(ofWing.rules).toEqual([{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }])
    expect(ofEngine.metadata.name).toBe('pawl-worker')
    expect(ofEngine.rules.flatMap(({ resources }) => resources)).toEqual(['events'])
  })
})
