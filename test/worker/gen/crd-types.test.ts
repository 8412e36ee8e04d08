import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { genTypes } from '../../../worker/gen/crd-types.ts'

const ROOT = join(import.meta.dirname, '../../..')
const CRD = join(ROOT, 'test/worker/gen/crd-types/fixtures/workshop.yaml')
const GOLDEN = await readFile(join(ROOT, 'test/worker/gen/crd-types/fixtures/workshop-v1.gen.ts'), 'utf8')

describe('the types of a file', () => {
  let folder: string
  let out: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pawl-types-'))
    out = join(folder, 'below/workshop.gen.ts')
  })

  afterAll(() => rm(folder, { recursive: true }))

  it('are missing, then written once, then up to date, and stale after an edit', async () => {
    expect(await run({ out, check: true })).toEqual({
      code: 1,
      printed: `missing: ${out}: not generated yet\n`,
      complaints: [],
    })
    expect(await readdir(folder)).toEqual([])
    expect(await run({ out })).toEqual({ code: 0, printed: `wrote ${out}\n`, complaints: [] })
    expect(await readFile(out, 'utf8')).toBe(GOLDEN)
    const written = await stat(out)
    expect(await run({ out })).toEqual({ code: 0, printed: '', complaints: [] })
    expect(await run({ out, check: true })).toEqual({ code: 0, printed: '', complaints: [] })
    expect((await stat(out)).mtimeMs).toBe(written.mtimeMs)
    await writeFile(out, GOLDEN.replace('export interface Widget {', 'export interface Gadget {'))
    expect(await run({ out, check: true })).toMatchObject({
      code: 1,
      printed: expect.stringContaining(
        'is "export interface Gadget {", expected "export interface Widget {"',
      ) as string,
    })
    expect(await readdir(join(folder, 'below'))).toEqual(['workshop.gen.ts'])
  })

  it('are not written when the file has mistakes, and the former ones stay', async () => {
    const crd = join(folder, 'bad.yaml')
    await writeFile(crd, 'kind: CustomResourceDefinition\n')
    await writeFile(out, 'former')
    expect(await run({ crd, out })).toEqual({
      code: 2,
      printed: '',
      complaints: [`${crd}:1:1: document 1: apiVersion: found nothing, expected "apiextensions.k8s.io/v1"`],
    })
    expect(await readFile(out, 'utf8')).toBe('former')
  })

  it('need a file that is there', async () => {
    const crd = join(folder, 'nowhere.yaml')
    expect((await run({ crd })).complaints).toEqual([`${crd}: found ENOENT, expected a file that can be read`])
  })

  it('tell which kinds lack the version', async () => {
    expect((await run({ version: 'v1beta1' })).complaints).toEqual([
      `${CRD}: left out Record of workshop.example.com, which has no version v1beta1`,
    ])
  })
})

describe('the command pawl gen types', () => {
  it(
    'prints the module, takes its own --version and --check, and ends with 2 for bad input',
    { timeout: 30_000 },
    () => {
      expect(pawl('--crd', CRD, '--version', 'v1')).toEqual({ status: 0, stdout: GOLDEN, stderr: '' })
      const golden = join(ROOT, 'test/worker/gen/crd-types/fixtures/workshop-v1.gen.ts')
      expect(pawl('--crd', CRD, '--version', 'v1', '--out', golden, '--check')).toMatchObject({ status: 0, stdout: '' })
      expect(pawl('--crd', CRD, '--out', golden, '--check')).toMatchObject({ status: 1, stderr: '' })
      expect(pawl('--crd', CRD, '--version', 'v9')).toMatchObject({ status: 2, stdout: '' })
      expect(pawl('--crd', CRD, '--check').stderr).toBe(
        'pawl: --check has nothing to compare with, expected --out <file>\n',
      )
      expect(pawl()).toMatchObject({ status: 2, stderr: "pawl: required option '--crd <file>' not specified\n" })
    },
  )
})

async function run(options: { crd?: string; out?: string; version?: string; check?: boolean }) {
  const { crd = CRD, out, version = 'v1', check = false } = options
  let printed = ''
  const complaints: string[] = []
  const code = await genTypes({
    crd,
    out,
    version,
    check,
    print: (text) => (printed += text),
    complain: (line) => complaints.push(line),
  })
  return { code, printed, complaints }
}

function pawl(...args: readonly string[]) {
  const command = [join(ROOT, 'worker/pawl.js'), 'gen', 'types', ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' })
  return { status, stdout, stderr }
}
