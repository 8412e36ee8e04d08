// The command line of `pawl gen`: flags, exit codes, standard output and standard error.

import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')

let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pawl-command-'))
  for (const name of ['rfc.cm', 'core.ts', 'batch.ts', 'cron-job.ts'])
    await cp(join(ROOT, 'test/workflows/kit/dsl/golden', name), join(dir, name))
  await writeFile(join(dir, 'bad.cm'), 'bind v2 ./core.ts\n')
})

afterAll(() => rm(dir, { recursive: true }))

function pawl(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'worker/pawl.js'), 'gen', ...args], {
    encoding: 'utf8',
    cwd: dir,
  })
  return { status, stdout, stderr }
}

describe('the command pawl gen', () => {
  it('prints a module, reports the missing file, writes it, and then reports no change', { timeout: 60_000 }, () => {
    const printed = pawl('rfc.cm', '--stdout', '-p', 'my-kit')
    expect(printed.status).toBe(0)
    expect(printed.stdout).toContain("} from 'my-kit'\n")
    expect(pawl('--check', 'rfc.cm')).toMatchObject({ status: 1, stdout: 'missing: rfc.gen.ts: not generated yet\n' })
    expect(pawl('rfc.cm')).toMatchObject({ status: 0, stdout: 'wrote rfc.gen.ts\n' })
    expect(pawl('--check', 'rfc.cm')).toMatchObject({ status: 0, stdout: '' })
    const ast = pawl('--ast', 'rfc.cm')
    expect(JSON.parse(ast.stdout)).toMatchObject([
      { file: 'rfc.cm', binds: [{ groupVersion: { text: 'v1' } }, {}, {}] },
    ])
  })

  it('prints errors of documents to standard error and exits with code 2', () => {
    expect(pawl('bad.cm')).toEqual({
      status: 2,
      stdout: '',
      stderr:
        "bad.cm:1:6: error CM021: found 'v2'; expected v1 or group/version, such as batch/v1\n" +
        '  bind v2 ./core.ts\n       ^^\n',
    })
  })

  it('prints the types of CRDs, and takes its own --version and --check', { timeout: 60_000 }, async () => {
    const fixtures = join(ROOT, 'test/worker/gen/crd-types/fixtures')
    const [crd, golden] = [join(fixtures, 'workshop.yaml'), join(fixtures, 'workshop-v1.gen.ts')]
    const stdout = await readFile(golden, 'utf8')
    expect(pawl('types', '--crd', crd, '--version', 'v1')).toEqual({ status: 0, stdout, stderr: '' })
    expect(pawl('types', '--crd', crd, '--out', golden, '--check')).toMatchObject({ status: 1, stderr: '' })
  })

  it.each([
    [['--stdout'], 'found --stdout without files, expected at least one .cm file'],
    [['--check', '--ast', 'rfc.cm'], 'found --check with --ast, expected one of them'],
    [['--chek'], 'option "--chek" of "pawl gen" does not exist; did you mean "--check"?'],
    [
      ['new', 'backup'],
      "gen new: kind: found 'backup'; expected at most 63 letters and digits, with a capital letter first",
    ],
    [['types'], "pawl: required option '--crd <file>' not specified"],
    [['types', '--crd', 'x', '--check'], 'pawl: --check has nothing to compare with, expected --out <file>'],
  ])('rejects %j with exit code 2 and an error that says what is wrong', async (args, message) => {
    const before = await readdir(dir)
    const { status, stdout, stderr } = pawl(...args)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(await readdir(dir)).toEqual(before)
  })
})

describe('a generated registry that imports a deleted folder', () => {
  it('is fixed by `pawl gen`, which does not load registries', { timeout: 60_000 }, async () => {
    const root = await mkdtemp(join(tmpdir(), 'pawl-mended-'))
    onTestFinished(() => rm(root, { recursive: true }))
    for (const name of ['workflows', 'worker', 'activities/yaml', 'package.json'])
      await cp(join(ROOT, name), join(root, name), { recursive: true })
    await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
    const registries = ['workflows/controllers.gen.ts', 'workflows/wings.gen.ts', 'workflows/index.ts']
    for (const name of registries)
      await writeFile(join(root, name), "export { gone } from './gone/gone/controller.ts'\n")
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'worker/cli.ts'), 'gen'], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const name of registries)
      expect(await readFile(join(root, name), 'utf8')).toBe(await readFile(join(ROOT, name), 'utf8'))
  })
})
