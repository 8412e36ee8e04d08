// Tests the generation of TypeScript modules from controller documents (`.cm`): files, options, messages, exit codes.

import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { genControllers, type GenControllersOptions } from '../../../worker/gen/controller-modules.ts'

const ROOT = join(import.meta.dirname, '../../..')
const GOLDEN = join(ROOT, 'test/workflows/kit/dsl/golden')

let dir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pawl-cm-'))
  await cp(join(GOLDEN, 'rfc.cm'), join(dir, 'cron-job.cm'))
})

afterEach(() => rm(dir, { recursive: true }))

async function run(files: readonly string[], options: Partial<GenControllersOptions> = {}) {
  const [printed, complaints]: [string[], string[]] = [[], []]
  const code = await genControllers({
    root: ROOT,
    files: files.map((file) => join(dir, file)),
    mode: 'write',
    print: (text) => printed.push(text),
    complain: (line) => complaints.push(line),
    ...options,
  })
  return { code, printed: printed.join(''), complaints }
}

const read = (file: string) => readFile(join(dir, file), 'utf8')

// The folder of the document does not contain the modules that the document binds.
const NOTES = expect.arrayContaining([
  expect.stringContaining('note: fields of the kinds in ./core.ts are not checked'),
]) as unknown

describe('generating from a document', () => {
  it('writes the module next to the document, and writes nothing the second time', async () => {
    expect(await run(['cron-job.cm'])).toMatchObject({
      code: 0,
      printed: `wrote ${join(dir, 'cron-job.gen.ts')}\n`,
      complaints: NOTES,
    })
    const { mtimeMs } = await stat(join(dir, 'cron-job.gen.ts'))
    expect(await run(['cron-job.cm'])).toMatchObject({ code: 0, printed: '' })
    expect((await stat(join(dir, 'cron-job.gen.ts'))).mtimeMs).toBe(mtimeMs)
    expect((await readdir(dir)).sort()).toEqual(['cron-job.cm', 'cron-job.gen.ts'])
  })

  it('warns with file and line about imports and globals that passes do not have, and still generates', async () => {
    const modules = {
      'plan.ts':
        "import { cronJobControllerManagerSteps } from './cron-job.gen.ts'\nimport { clean } from './clean.ts'\nexport const plan = cronJobControllerManagerSteps({ clean })\n",
      'clean.ts':
        "import type { Pass } from './cron-job.gen.ts'\nimport { hash } from 'node:crypto'\n\nexport const clean = () => fetch(hash('sha1', ''))\n",
      'plan.test.ts': "import { x } from './cron-job.gen.ts'\nimport 'node:fs'\n",
      'of-another.ts': "import type { Pass } from './cron-job.gen.ts'\nexport const home = process.env.HOME\n",
    }
    for (const [name, text] of Object.entries(modules)) await writeFile(join(dir, name), text)
    const warnings = async (options: Partial<GenControllersOptions> = {}) => {
      const { code, complaints } = await run(['cron-job.cm'], options)
      return [code, ...complaints.filter((line) => line.startsWith('warning: '))]
    }
    const expected = [
      0,
      `warning: ${join(dir, 'clean.ts')}:2:1: imports node:crypto, which is not available in passes; use contentHash, or an activity of the controller (docs/guides/own-activities.md)`,
      `warning: ${join(dir, 'clean.ts')}:4:28: uses fetch, which is not available in passes; call it in an activity of the controller (docs/guides/own-activities.md)`,
    ]
    expect(await warnings()).toEqual(expected)
    expect(await warnings({ mode: 'check' })).toEqual(expected)
    expect(await warnings({ mode: 'print' })).toEqual([0])
    expect(await read('cron-job.gen.ts')).toContain('Generated from cron-job.cm')
  })

  it("checks the picked fields of Kubernetes' built-in kinds, and the types of selector fields", async () => {
    const document = (strategy: string, phase: string) =>
      `decl Watch for Deployment {\n  state { pods []Pod { labelsFrom=${strategy} pick=status.${phase} owned=label } }\n  action { A(pods) }\n}\n`
    await writeFile(join(dir, 'watch.cm'), document('spec.strategy.type', 'phse'))
    const { code, complaints } = await run(['watch.cm'])
    expect([code, ...complaints.map((complaint) => complaint.split('\n')[0]?.replace(`${dir}/`, ''))]).toEqual([
      2,
      "watch.cm:2:35: error CM045: 'spec.strategy.type' of Deployment is a string; expected a map of labels, or a selector",
      "watch.cm:2:59: error CM046: Pod has no field 'status.phse'; did you mean 'status.phase'?",
    ])
    await writeFile(join(dir, 'watch.cm'), document('spec.selector', 'phase'))
    expect(await run(['watch.cm'])).toMatchObject({ code: 0, complaints: [] })
    expect(await read('watch.gen.ts')).toContain(
      "pods: { kind: 'v1/Pod', many: true, labelsFrom: 'spec.selector', owned: 'label', pick: ['status.phase'] }",
    )
  })

  it('imports the published kit outside of the checkout, the local kit inside, or the module of --kit', async () => {
    await run(['cron-job.cm'])
    expect(await read('cron-job.gen.ts')).toContain("} from 'pawl/kit'\n")
    await run(['cron-job.cm'], { kit: '#kit' })
    expect(await read('cron-job.gen.ts')).toContain("} from '#kit'\n")
    expect((await run([], { files: [join(GOLDEN, 'rfc.cm')], mode: 'check' })).code).toBe(0)
  })

  it('writes import paths relative to the output folder', async () => {
    await mkdir(join(dir, 'a/b'), { recursive: true })
    const out = join(dir, 'a/b')
    expect((await run(['cron-job.cm'], { out })).printed).toBe(`wrote ${join(out, 'cron-job.gen.ts')}\n`)
    expect(await read('a/b/cron-job.gen.ts')).toContain("import type { Job } from '../../batch.ts'\n")
  })

  it('writes the boilerplate at the top of the module', async () => {
    await writeFile(join(dir, 'licence.txt'), 'Licensed to all.\n')
    await run(['cron-job.cm'], { boilerplate: join(dir, 'licence.txt') })
    expect(await read('cron-job.gen.ts')).toMatch(/^\/\/ Licensed to all\.\n\n\/\/ Generated from cron-job\.cm\./)
    const { code, complaints } = await run(['cron-job.cm'], { boilerplate: join(dir, 'none.txt') })
    expect([code, complaints]).toEqual([2, [expect.stringMatching(/none\.txt: cannot read the file/)]])
  })
})

describe('a document about a kind of another project', () => {
  const DEFINITION = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  names: { kind: Route }
  scope: Cluster
  versions:
    - name: v1
      selectableFields: [{ jsonPath: .spec.color }]
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                color: { type: string }
                port: { x-kubernetes-int-or-string: true }
                hosts: { type: array, items: { type: string } }
`
  const document = (states: string) => `bind v1 pawl/kit/v1
bind example.com/v1 routes
alias Route example.com/v1/Route
alias ConfigMap v1/ConfigMap
decl Routes for Route { state { ${states} } action { Act(a) } }
`
  const complaintsOf = async (states: string, crd?: string) => {
    await writeFile(join(dir, 'routes.cm'), document(states))
    await writeFile(join(dir, 'crd.yaml'), DEFINITION)
    const { code, complaints } = await run(['routes.cm'], { mode: 'print', crd: crd && join(dir, crd) })
    return [code, complaints.map((complaint) => /CM\d+/.exec(complaint)?.[0] ?? complaint)]
  }

  it('is checked against the CRD if a CRD is given', async () => {
    expect(await complaintsOf('a ConfigMap { name=${target.spec.color}-${target.spec.port} }', 'crd.yaml')).toEqual([
      0,
      [],
    ])
    expect(await complaintsOf('a ConfigMap { name=${target.spec.colour} }', 'crd.yaml')).toEqual([2, ['CM041']])
    expect(await complaintsOf('a ConfigMap { name=${target.spec.hosts} }', 'crd.yaml')).toEqual([2, ['CM042']])
    expect(await complaintsOf('a []Route { fields/spec.color=red }', 'crd.yaml')).toEqual([0, []])
    expect(await complaintsOf('a []Route { fields/spec.port=red }', 'crd.yaml')).toEqual([2, ['CM043']])
    expect(await complaintsOf('a []Route { namespace=x }', 'crd.yaml')).toEqual([2, ['CM044']])
  })

  it('is generated without a CRD, with a warning about the unchecked fields', async () => {
    expect(await complaintsOf('a ConfigMap { name=${target.spec.colour} }')).toEqual([0, ['CM053']])
    expect(await complaintsOf('a ConfigMap { name=${target.Name} }')).toEqual([0, []])
  })

  it('is rejected if the file of CRDs cannot be read', async () => {
    expect(await complaintsOf('a []Route { }', 'none.yaml')).toEqual([
      2,
      [expect.stringMatching(/none\.yaml: cannot read the file; expected CustomResourceDefinitions$/)],
    ])
    expect(await complaintsOf('a []Route { }', 'routes.cm')).toEqual([2, [expect.stringMatching(/^\S+routes\.cm:/)]])
  })
})

describe('checking a document', () => {
  it('prints the difference of a stale module, and changes no file', async () => {
    await run(['cron-job.cm'])
    const stale = (await read('cron-job.gen.ts')).replace('readonly jobs', 'readonly job')
    await writeFile(join(dir, 'cron-job.gen.ts'), stale)
    const { code, printed } = await run(['cron-job.cm'], { mode: 'check' })
    expect(code).toBe(1)
    expect(printed).toContain('@@ -5,7 +5,7 @@\n')
    expect(printed).toContain('\n-  readonly job: readonly Job[]\n+  readonly jobs: readonly Job[]\n }\n')
    expect(await read('cron-job.gen.ts')).toBe(stale)
  })
})

describe('printing documents', () => {
  it('prints the syntax trees as JSON, also of documents with errors', async () => {
    await writeFile(join(dir, 'bad.cm'), 'bind v2 ./a.ts\n')
    const { code, printed, complaints } = await run(['bad.cm', 'cron-job.cm'], { mode: 'ast' })
    expect(code).toBe(2)
    expect(complaints.join('\n')).toContain('bad.cm:1:6: error CM021')
    const documents = JSON.parse(printed) as { file: string; declarations: { name: object }[] }[]
    expect(documents.map(({ file }) => file)).toEqual([join(dir, 'bad.cm'), join(dir, 'cron-job.cm')])
    expect(documents[1]?.declarations[0]?.name).toEqual({
      text: 'CronJobControllerManager',
      at: { offset: 246, line: 9, column: 6, length: 24 },
    })
  })
})

describe('a set of documents with an error', () => {
  it('generates no module', async () => {
    await writeFile(join(dir, 'bad.cm'), 'alias A\n')
    const { code, printed, complaints } = await run(['cron-job.cm', 'bad.cm'])
    expect([code, printed]).toEqual([2, ''])
    expect(complaints.at(-1)).toBe(
      `${join(dir, 'bad.cm')}:1:8: error CM003: found the end of the line; expected group, version and kind, such as batch/v1/Job\n  alias A\n         ^`,
    )
    expect((await readdir(dir)).sort()).toEqual(['bad.cm', 'cron-job.cm'])
  })

  it('reports errors that loading the controller would report', async () => {
    const document = (await read('cron-job.cm')).replace(/(?<=decl \w+ for \w+) \{/, ' as job {')
    await writeFile(join(dir, 'job.cm'), document.replace('owned', ''))
    const { code, printed, complaints } = await run(['job.cm'])
    expect([code, printed]).toEqual([2, ''])
    expect(complaints.at(-1)).toBe(
      `${join(dir, 'job.cm')}:11:9: error CM037: state 'jobs', in mode job: 'owned' is missing; add it, because mode job reads only objects that the target owns\n          jobs []Job {\n          ^^^^`,
    )
  })

  it.each([
    ['none.cm', 'cannot read the file'],
    ['cron-job.txt', 'found another file extension; expected .cm'],
  ])('rejects the file %s', async (file, message) => {
    expect(await run([file])).toEqual({ code: 2, printed: '', complaints: [`${join(dir, file)}: ${message}`] })
  })

  it('reports two documents with the same output file', async () => {
    await mkdir(join(dir, 'sub'))
    await cp(join(dir, 'cron-job.cm'), join(dir, 'sub/cron-job.cm'))
    const { code, complaints } = await run(['cron-job.cm', 'sub/cron-job.cm'], { out: dir })
    expect([code, complaints.at(-1)]).toEqual([2, expect.stringContaining('is also the module of')])
    expect((await run(['cron-job.cm', 'cron-job.cm'])).code).toBe(0)
  })
})
