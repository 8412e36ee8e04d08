// The npm package, installed in a project outside of the checkout, and the tutorial in such a project.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'

import * as kit from '../../workflows/kit/index.ts'
import type * as templateEngine from '../../activities/landscaper/render/engine/template-engine.ts'
import type * as bundler from '../../worker/reconciler/temporal/bundle.ts'
import type * as shippedBundle from '../../worker/reconciler/temporal/shipped-bundle.ts'
import { createProject, type Project } from './project.ts'
import { handlerToldOf } from '../support/chaos/waiting-handler.ts'

const ROOT = join(import.meta.dirname, '../..')
type Engine = typeof templateEngine

const PAWL = 'pawl/worker/pawl.js'

// The project settings that docs/guides/controller-project.md requires.
const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    skipLibCheck: true,
  },
  include: ['**/*.ts'],
}

const DOCS = join(import.meta.dirname, '../../docs')
const FIRST = 'start/first-controller.md'
const WRITING = ['guides/write-a-controller.md', 'guides/write-actions-and-a-plan.md']
const page = readFileSync(join(DOCS, FIRST), 'utf8')
const writing = WRITING.map((path) => readFileSync(join(DOCS, path), 'utf8')).join('\n')
// Code blocks whose first line contains a file path.
const typedOn = (text: string) =>
  [...text.matchAll(/^```\w+ (\S+)\n([^]*?\n)```$/gm)].map(([, path = '', code = '']) => ({ path, text: code }))
// Commands and their expected output.
const shown = [...page.matchAll(/^\$ npx (.*)\n((?:(?!\$ |```).*\n)*)/gm)].map(([, command = '', output = '']) => ({
  command,
  output,
}))
const BINS: Readonly<Record<string, string>> = { pawl: 'pawl/worker/pawl.js', tsc: 'typescript/bin/tsc' }

// These tests do not check the log of the bundler.
const SILENT = { log: ignore, trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore }

let project: Project
let files: readonly string[]

beforeAll(async () => {
  project = await createProject()
  const entries = readdirSync(project.pawl, { recursive: true, encoding: 'utf8', withFileTypes: true })
  files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(project.pawl.length + 1))
    // Omits links to dependencies.
    .filter((file) => !file.startsWith('node_modules/'))
  writeFileSync(join(project.dir, 'tsconfig.json'), JSON.stringify(TSCONFIG))
}, 120_000)
afterAll(() => project.remove())

describe('the package', () => {
  it('contains compiled code, documentation, examples and deployment files, but no tests, benchmarks or demos', () => {
    expect(files).toEqual(expect.arrayContaining(['worker/cli.js', 'workflows/index.js', 'README.md', 'LICENSE']))
    expect(files).toEqual(
      expect.arrayContaining(['deploy/templates/engine.wasm.br', 'deploy/binaries/pins.json', 'deploy/webhook.yaml']),
    )
    const tops = [...new Set(files.map((file) => file.split('/')[0]))].sort()
    const folders = ['activities', 'deploy', 'docs', 'examples', 'migrations', 'worker', 'workflows']
    expect(tops).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json', ...folders].sort())
    expect(files.filter((file) => /(?:^|[/.])(?:test|tests|bench|demo|histories)(?:[/.]|$)/.test(file))).toEqual([])
    expect(files.filter((file) => file.endsWith('.png'))).toEqual([])
    // Node does not strip types in node_modules; only the kit has declarations. Examples are sources to copy.
    const typed = files.filter((file) => file.endsWith('.ts') && !file.startsWith('examples/'))
    expect(typed.filter((file) => !/^workflows\/kit\/.*\.d\.ts$/.test(file))).toEqual([])
  })

  it('contains a compiled module for each source module except the demo and a generator that needs the compiler', () => {
    const sources = ['workflows', 'activities', 'worker', 'migrations'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
    )
    const isForCheckouts = (path: string) => /^worker\/(?:demo|gen\/(?:kit-pages|licence-page)\.ts$)/.test(path)
    const expected = sources.filter((path) => path.endsWith('.ts') && !isForCheckouts(path))
    expect(files.filter((file) => isForCheckouts(file.replace(/\.js$/, '.ts')))).toEqual([])
    expect(files).toEqual(expect.arrayContaining(expected.map((path) => path.replace(/\.ts$/, '.js'))))
  })

  it('contains no path of the machine that built it', () => {
    const texts = files.filter((file) => !file.endsWith('.br'))
    const folders = [ROOT, `${homedir()}/`, project.dir, inject('packageFolder')]
    const naming = (text: string) => folders.some((folder) => text.includes(folder))
    expect(texts.filter((file) => naming(readFileSync(join(project.pawl, file), 'utf8')))).toEqual([])
  })

  it('has the same exports as the checkout, compiled and with types', () => {
    const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: object }
    expect(Object.keys(project.manifest.exports)).toEqual(Object.keys(exports))
    for (const target of Object.values(project.manifest.exports)) {
      if (typeof target === 'string') continue
      for (const path of [target.types, target.default]) {
        const found = files.filter((file) => new RegExp(`^${path.slice(2).replace('*', '.+')}$`).test(file))
        expect(found, path).not.toEqual([])
      }
    }
    writeFileSync(join(project.dir, 'names.js'), "console.log(JSON.stringify(Object.keys(await import('pawl/kit'))))\n")
    expect(JSON.parse(project.run('../names.js').stdout)).toEqual(Object.keys(kit).sort())
  })
})

describe('the installed package', () => {
  it('runs the command pawl', () => {
    expect(project.run(PAWL, '--version')).toEqual({ code: 0, stdout: `${project.manifest.version}\n`, stderr: '' })
    const drawn = project.run(PAWL, 'plan', 'show', 'execution')
    expect([drawn.code, drawn.stdout.split('\n', 1)]).toEqual([0, [expect.stringMatching(/^Execution /)]])
  })

  it('has the command pawl-injector, which images start', async () => {
    for (const file of Object.values(project.manifest.bin)) expect(files).toContain(file)
    const path = `pawl/${project.manifest.bin['pawl-injector'] ?? ''}`
    expect(project.run(path, '--help')).toEqual(project.run(PAWL, 'injector', '--help'))
    expect(await handlerToldOf([join(project.dir, 'node_modules', path)])).toMatchObject({ code: 0, signal: null })
  })

  it('rejects `pawl gen` without files, which would generate into the package', () => {
    expect(project.run(PAWL, 'gen')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected at least one .cm file') as string,
    })
  })

  it('renders templates in a worker thread and checks schemas in a separate process', async () => {
    const path = join(project.pawl, 'activities/landscaper/render/engine/template-engine.js')
    const { createTemplateEngine } = (await import(pathToFileURL(path).href)) as Pick<Engine, 'createTemplateEngine'>
    const engine = createTemplateEngine({ threads: 1 })
    try {
      const request = { name: 'a', template: '{{ .name | upper }}', binding: { name: 'pawl' }, files: {} } as const
      expect(await engine.render({ engine: 'GoTemplate', ...request })).toEqual({ output: 'PAWL' })
      const check = { what: 'a', schema: { $ref: 'blueprint://b' }, value: 'pawl', localTypes: {} }
      const report = await engine.checkSchema({ ...check, files: { b: 'format: ipv4' } })
      expect(report).toEqual({ problems: ['must match format "ipv4"'], missing: [] })
    } finally {
      await engine.close()
    }
  })
})

describe('the workflow bundle in the package', () => {
  let reasons: unknown[]
  const logger = { ...SILENT, warn: (_: string, meta?: { error?: unknown }) => void reasons.push(meta?.error) }
  beforeEach(() => {
    reasons = []
  })

  it('equals the bundle that the installed package builds, although it was built elsewhere', async () => {
    const { buildOf, bundleWorkflows } = (await temporalModule('bundle')) as typeof bundler
    const { readShippedBundle } = (await temporalModule('shipped-bundle')) as typeof shippedBundle
    const shipped = await readShippedBundle(false, logger)
    // Without the texts: a difference of megabytes takes minutes to print.
    expect(shipped === (await bundleWorkflows(SILENT)).code).toBe(true)
    const build = async (payloadKeyPath?: string) =>
      await buildOf({ workflowBundle: undefined, controllerFiles: [], payloadKeyPath }, [], logger)
    expect((await build()).code === shipped).toBe(true)
    expect((await build('payload.key')).code === (await readShippedBundle(true, logger))).toBe(true)
    expect((await build('payload.key')).name).not.toBe((await build()).name)
    expect(reasons).toEqual([])
  })

  it.each([
    ['changed', 'workflows/kit/plan/combine.js', 'has changed'],
    ['added', 'workflows/index.ts', 'is new'],
  ])('is not used if a file was %s', async (_, file, problem) => {
    const { readShippedBundle } = (await temporalModule('shipped-bundle')) as typeof shippedBundle
    const path = join(project.pawl, file)
    const before = existsSync(path) ? readFileSync(path) : undefined
    writeFileSync(path, '// another file')
    try {
      expect(await readShippedBundle(false, logger)).toBeUndefined()
      expect(reasons).toEqual([new Error(`file ${path} ${problem}`)])
    } finally {
      if (before === undefined) rmSync(path)
      else writeFileSync(path, before)
    }
  })
})

describe('a controller in a project that depends on the package', () => {
  it('is created by `pawl gen new`, passes its tests, and has a CRD', () => {
    expect(project.run(PAWL, 'gen', 'new', 'TimeTable')).toMatchObject({ code: 0, stderr: '' })
    expect(project.run(PAWL, 'gen', '--check', 'time-table/controller.cm')).toMatchObject({ code: 0, stderr: '' })
    const tested = project.run('vitest/vitest.mjs', 'run', '--no-color')
    expect(tested.stdout).toMatch(/Tests +3 passed/)
    const crd = project.run(PAWL, 'gen', 'crd', 'time-table/kind.ts')
    expect([crd.code, crd.stdout]).toEqual([0, expect.stringContaining('name: timetables.example.com\n')])
  })

  // One run of the compiler for both: no other line of the project has an error.
  it('compiles, and is type-checked against the kit and the built-in kinds of Kubernetes', () => {
    mkdirSync(join(project.dir, 'wrong'))
    const lines = [
      "import { again } from 'pawl/kit'",
      "import type { Job } from 'pawl/kit/batch/v1'",
      "export const wrong = again('soon')",
      'export const ended = (job: Job): Date | undefined => job.status?.completionTime',
    ]
    writeFileSync(join(project.dir, 'wrong/wrong.ts'), `${lines.join('\n')}\n`)
    const { code, stdout } = project.run('typescript/bin/tsc', '-p', '.')
    expect(code).not.toBe(0)
    expect(stdout.match(/^\S.*error TS\d+/gm)).toEqual([
      'wrong/wrong.ts(3,28): error TS2345',
      'wrong/wrong.ts(4,54): error TS2322',
    ])
    expect(readdirSync(join(project.dir, 'time-table'))).toContain('controllers.ts')
  })

  it('is bundled for the workflow sandbox with the workflows of Pawl and without the Kubernetes client', async () => {
    const { bundleControllers } = (await temporalModule('bundle')) as typeof bundler
    const { code } = await bundleControllers([join(project.dir, 'time-table/controllers.ts')], ['timeTable'], SILENT)
    // Without its source map, which contains sources.
    const [bundle = ''] = code.split('//# sourceMappingURL=data:')
    const words = ['applyConfigMap', 'triggerDeployItems', 'kubernetes/client-node', 'runNowhere']
    expect(words.filter((word) => bundle.includes(word))).toEqual(['applyConfigMap', 'triggerDeployItems'])
  })
})

const READERS = [
  { of: FIRST, folder: 'first', files: typedOn(page), copies: page, names: ['tsconfig.json', 'cron-job/plan.test.ts'] },
  {
    of: WRITING.join(' and '),
    folder: 'writing',
    files: [...typedOn(page), ...typedOn(writing)],
    copies: writing,
    names: ['tsconfig.json', 'cron-job/controllers.ts', 'cron-job/plan.ts', 'cron-job/plan.test.ts'],
  },
]

// Commands that need servers (`pawl dev`, kubectl) are tested in test/e2e.
describe.each(READERS)('a reader of docs/$of', ({ folder, files: typed, copies, names }) => {
  let own: Project
  beforeAll(() => {
    own = project.below(folder)
    mkdirSync(join(own.dir, 'cron-job'))
    for (const [copy] of copies.matchAll(/^cp .*$/gm)) execFileSync('bash', ['-c', copy], { cwd: own.dir })
    for (const { path, text } of typed) writeFileSync(join(own.dir, path), text)
  })

  it('finds files to type', () => {
    expect(typed.map(({ path }) => path)).toEqual(expect.arrayContaining(names))
    expect(shown.map(({ command }) => command.split(' ').slice(0, 2).join(' '))).toEqual([
      ...['pawl gen', 'pawl gen', 'tsc -p', 'pawl plan'],
    ])
  })

  // In the order of the page: later commands read files that earlier commands have written.
  it.each(shown)('sees what npx $command prints', ({ command, output }) => {
    const [bin = '', ...args] = command.split(' ')
    const { code, stdout, stderr } = own.run(BINS[bin] ?? bin, ...args)
    expect({ code, stdout: stdout.trim(), stderr }).toEqual({ code: 0, stdout: output.trim(), stderr: '' })
  })

  it('has the CRD of the example, and tests that pass', () => {
    const crd = readFileSync(join(own.dir, 'cron-job/cron-job.crd.yaml'), 'utf8')
    expect(crd).toBe(readFileSync(join(own.pawl, 'examples/cronjob/cron-job.crd.yaml'), 'utf8'))
    const tested = own.run('vitest/vitest.mjs', 'run', '--no-color')
    expect([tested.code, tested.stdout]).toEqual([0, expect.stringMatching(/Tests +3 passed/)])
  })
})

/** A module of the installed package. */
async function temporalModule(name: string): Promise<unknown> {
  return await import(pathToFileURL(join(project.pawl, `worker/reconciler/temporal/${name}.js`)).href)
}

function ignore(): void {
  // Nothing to do.
}
