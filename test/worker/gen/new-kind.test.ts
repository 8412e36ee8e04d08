import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { format } from 'prettier'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { gen } from '../../../worker/gen.ts'
import type { LevelController } from '../../../workflows/kit/index.ts'
import { runPass } from '../../../workflows/kit/testing/index.ts'
import { genNew } from '../../../worker/gen/new-kind.ts'
import { compilerErrors } from '../../support/compiler/compiler-errors.ts'

const ROOT = join(import.meta.dirname, '../../..')

let root: string
let written: ReadonlyMap<string, string>

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'pawl-new-'))
  await cp(join(ROOT, 'workflows/kit'), join(root, 'workflows/kit'), { recursive: true })
  const { code, lines } = await create('TimeTable')
  expect([code, lines.at(-1)]).toEqual([
    0,
    'next: edit workflows/example/time-table/kind.ts and workflows/example/time-table/controller.cm, then run `pawl gen`',
  ])
  const paths = lines.slice(0, -1).map((line) => line.replace('wrote ', ''))
  written = new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(join(root, path), 'utf8')] as const)),
  )
})

afterAll(() => rm(root, { recursive: true }))

async function create(kind: string, group = 'example.com') {
  const lines: string[] = []
  const print = (line: string) => lines.push(line)
  return { code: await genNew({ root, layout: 'checkout', kind, group, print, complain: print }), lines }
}

describe('the skeleton of a new kind', () => {
  it('contains a kind, a document and its module, an action, a plan and a test', async () => {
    expect([...written.keys()]).toEqual([
      'test/workflows/example/time-table/plan.test.ts',
      'workflows/example/time-table/README.md',
      'workflows/example/time-table/apply-config-map.ts',
      'workflows/example/time-table/config-map.ts',
      'workflows/example/time-table/controller.cm',
      'workflows/example/time-table/controller.gen.ts',
      'workflows/example/time-table/controller.ts',
      'workflows/example/time-table/fields.ts',
      'workflows/example/time-table/kind.ts',
      'workflows/example/time-table/plan.ts',
      'workflows/example/time-table/workflow.ts',
    ])
    expect((await readdir(join(root, 'workflows/example/time-table'))).length).toBe(10)
  })

  it('has the formatting of the project', async () => {
    for (const [path, text] of written) {
      if (!path.endsWith('.ts')) continue
      expect(await format(text, { parser: 'typescript', semi: false, singleQuote: true, printWidth: 120 })).toBe(text)
    }
  })

  it('compiles with the compiler flags of the project', { timeout: 60_000 }, () => {
    const modules = new Map([...written].filter(([path]) => path.endsWith('.ts')))
    expect(compilerErrors(modules)).toEqual([])
    const wrong = new Map(modules).set(
      'workflows/example/time-table/plan.ts',
      (written.get('workflows/example/time-table/plan.ts') ?? '').replace('step.applyConfigMap', 'step.applyNothing'),
    )
    expect(compilerErrors(wrong)).toHaveLength(1)
  })

  it('has an up-to-date module, and `pawl gen` writes its CRD and roles', async () => {
    const lines: string[] = []
    const print = (line: string) => lines.push(line)
    expect(await gen({ root, check: false, print, complain: print })).toBe(0)
    expect(lines).toEqual([
      'wrote activities/commands.gen.ts',
      'wrote activities/pods.gen.ts',
      'wrote activities/programs.gen.ts',
      'wrote activities/wings.gen.ts',
      'wrote deploy/crds/example/example.com_timetables.yaml',
      'wrote deploy/rbac/api.yaml',
      'wrote deploy/rbac/example/bridge.yaml',
      'wrote deploy/rbac/example/worker.yaml',
      'wrote deploy/rbac/worker.yaml',
      'wrote docs/reference/kinds/README.md',
      'wrote docs/reference/kinds/time-table.md',
      'wrote workflows/admission.gen.ts',
      'wrote workflows/controllers.gen.ts',
      'wrote workflows/index.ts',
      'wrote workflows/wings.gen.ts',
    ])
  })

  it('has a level-mode controller and a workflow, which `pawl gen` registers', async () => {
    const { CONTROLLERS } = (await import(join(root, 'workflows/controllers.gen.ts'))) as {
      CONTROLLERS: Readonly<Record<string, readonly LevelController[]>>
    }
    expect(Object.keys(CONTROLLERS)).toEqual(['example'])
    expect(CONTROLLERS['example']?.map(({ name, target }) => [name, target.kind])).toEqual([['timeTable', 'TimeTable']])
    expect(await readFile(join(root, 'workflows/index.ts'), 'utf8')).toContain(
      "export { timeTable } from './example/time-table/workflow.ts'",
    )
  })

  it('has a controller that applies a ConfigMap and writes the status', async () => {
    const { timeTableController } = (await import(join(root, 'workflows/example/time-table/controller.ts'))) as {
      timeTableController: LevelController<{ configMap: unknown }, { metadata: object; spec: object }>
    }
    const { written, status } = await runPass(timeTableController, { target: { spec: { message: 'hello' } } })
    expect(written).toEqual(['apply ConfigMap one'])
    expect(status).toEqual({
      conditions: [expect.objectContaining({ type: 'Ready', status: 'True', reason: 'Reconciled' })],
    })
    // The journal stores the conditions, which `pawl history`, `get` and `why` show. An owned object needs no finalizer.
    expect(timeTableController.target.projection).toEqual([['status', 'conditions']])
    expect(timeTableController.finalizer).toBeUndefined()
  })

  it('has a controller that reports faults as the condition Ready', async () => {
    const { timeTableController } = (await import(join(root, 'workflows/example/time-table/controller.ts'))) as {
      timeTableController: LevelController<{ configMap: unknown }, { metadata: object; spec: object }>
    }
    const fault = { code: 'Forbidden', message: 'no', retryable: true }
    const reported = [expect.objectContaining({ type: 'Ready', status: 'False', reason: 'Forbidden', message: 'no' })]
    const target = { spec: { message: 'hello' } }
    const { status } = await runPass(timeTableController, { target, fails: { apply: fault } })
    expect(status).toEqual({ conditions: reported })
  })

  it('does not overwrite an existing tsconfig.json', async () => {
    const own = await mkdtemp(join(tmpdir(), 'pawl-own-'))
    await writeFile(join(own, 'tsconfig.json'), '{}')
    const wish = { root: own, layout: 'project', kind: 'TimeTable', group: 'example.com' } as const
    expect(await genNew({ ...wish, print: () => undefined, complain: () => undefined })).toBe(0)
    expect(await readFile(join(own, 'tsconfig.json'), 'utf8')).toBe('{}')
    await rm(own, { recursive: true })
  })
})

describe('the skeleton of a new kind in another project', () => {
  let project: string
  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'pawl-project-'))
  })
  afterAll(() => rm(project, { recursive: true }))

  it('is one formatted folder that imports the published kit', async () => {
    const lines: string[] = []
    const print = (line: string) => lines.push(line)
    const wish = { root: project, layout: 'project', kind: 'TimeTable', group: 'example.com' } as const
    expect(await genNew({ ...wish, print, complain: print })).toBe(0)
    const names = await readdir(join(project, 'time-table'))
    expect(names.sort()).toEqual([
      'README.md',
      'apply-config-map.ts',
      'controller.cm',
      'controller.gen.ts',
      'controllers.ts',
      'kind.ts',
      'plan.test.ts',
      'plan.ts',
      'sample.yaml',
    ])
    expect(JSON.parse(await readFile(join(project, 'tsconfig.json'), 'utf8'))).toMatchObject({
      compilerOptions: { erasableSyntaxOnly: true },
    })
    expect(await readFile(join(project, 'time-table/README.md'), 'utf8')).toContain(
      `\nnpx vitest run --root ${project} time-table && npx tsc -p ${project}\n`,
    )
    expect(lines.at(-1)).toContain(`then run \`pawl gen ${join(project, 'time-table/controller.cm')}\``)

    // test/package/installed.test.ts compiles it.
    for (const name of names.filter((one) => one.endsWith('.ts'))) {
      const text = await readFile(join(project, 'time-table', name), 'utf8')
      expect(text).not.toContain('workflows/kit')
      expect(await format(text, { parser: 'typescript', semi: false, singleQuote: true, printWidth: 120 })).toBe(text)
    }
    expect(await genNew({ ...wish, print, complain: print })).toBe(2)
  })
})

describe('an attempt to create an invalid or existing kind', () => {
  it('overwrites no file', async () => {
    const path = join(root, 'workflows/example/time-table/plan.ts')
    await writeFile(path, '// mine\n')
    expect(await create('TimeTable')).toEqual({
      code: 2,
      lines: [
        'gen new: workflows/example/time-table already exists, and pawl gen new overwrites no files; choose another kind, or delete the file',
      ],
    })
    expect(await readFile(path, 'utf8')).toBe('// mine\n')
    await mkdir(join(root, 'test/workflows/example/other'))
    expect((await create('Other')).lines[0]).toContain('test/workflows/example/other already exists')
    expect(await readdir(join(root, 'workflows/example'))).not.toContain('other')
  })

  it.each([
    ['backup', undefined, "kind: found 'backup'; expected at most 63 letters and digits"],
    ['../Evil', undefined, "kind: found '../Evil'; expected at most 63 letters and digits"],
    ['Step', undefined, "kind 'Step' already exists"],
    ['Kit', undefined, "kind: 'Kit' is a name of the kit"],
    ['Checked', undefined, "kind: 'Checked' is a name of the kit"],
    ['Delete', undefined, "kind: found 'Delete', whose workflow would have the reserved name 'delete'"],
    ['Backup', 'example', "group: found 'example'; expected a domain"],
    ['Backup', 'Example.com', "group: found 'Example.com'; expected a domain"],
  ])('fails with the reason: kind %s in group %s', async (kind, group, message) => {
    const { code, lines } = await create(kind, group)
    expect([code, lines]).toEqual([2, [expect.stringContaining(message)]])
  })
})
