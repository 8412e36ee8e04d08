// Spiff as the engine runs it: what it may see, what it cannot do to us, what its messages tell.

import { afterAll, describe, expect, it } from 'vitest'
import { toFileContent } from '../../../../activities/landscaper/render/file-content.ts'
import {
  createTemplateEngine,
  type TemplateRequest,
} from '../../../../activities/landscaper/render/engine/template-engine.ts'
import type { TemplateErrorCode } from '../../../../activities/landscaper/render/render-errors.ts'

const CANARY = 'canary-77ab12'
const patient = createTemplateEngine({ threads: 1 })
const hasty = createTemplateEngine({ timeoutMs: 1500, outputLimitBytes: 10_000, threads: 1 })

afterAll(async () => {
  await Promise.all([patient.close(), hasty.close()])
})

describe('a Spiff template', () => {
  it.each<[string, string, unknown]>([
    ['references', 'a: (( imports.name ))', { a: 'app' }],
    ['a document that is one expression', '"(( imports.name ))"', 'app'],
    ['texts beside numbers', 'a: (( "http://" imports.name ":" imports.port ))', { a: 'http://app:8080' }],
    ['sums', 'a: (( imports.port + 1 ))', { a: 8081 }],
    ['formats', 'a: (( format("%s-%05d", imports.name, imports.port) ))', { a: 'app-08080' }],
    ['mappings of lists', 'a: (( map[imports.list|x|->x.name ":" x.n] ))', { a: ['a:1', 'b:2'] }],
    ['mappings to maps', 'a: (( map{["k", "l"]|x|->x "!"} ))', { a: { k: 'k!', l: 'l!' } }],
    ['selections', 'a: (( select[imports.list|x|->x.n > 1] ))', { a: [{ name: 'b', n: 2 }] }],
    ['conditions', 'a: (( imports.flag ? "yes" :"no" ))', { a: 'yes' }],
    ['defaults', 'a: (( imports.nothing || "default" ))', { a: 'default' }],
    ['merges', 'a:\n  <<: (( imports.map ))\n  own: 1', { a: { k: 'v', own: 1 } }],
    ['references within the document', 'a: { b: 1 }\nc: (( a.b ))', { a: { b: 1 }, c: 1 }],
    ['lambdas', 'f: (( &temporary(|x|->x "!") ))\na: (( .f(imports.name) ))', { a: 'app!' }],
    ['templates', 't:\n  <<: (( &temporary &template ))\n  id: (( imports.name ))\na: (( *t ))', { a: { id: 'app' } }],
    ['files of the blueprint', 'a: (( read("data/a.yaml") ))\nb: (( read("/b.txt") ))', { a: { x: 1 }, b: 'text' }],
    ['lists of files', 'a: (( list_files("data") ))', { a: ['a.yaml'] }],
    ['references of images', 'a: (( parseOCIRef("h:5/a/b:1.0") ))', { a: ['h:5/a/b', '1.0'] }],
    ['repositories', 'a: (( ociRefRepo("h:5/a@sha256:00") ))', { a: 'h:5/a' }],
    ['digests', 'a: (( ociRefVersion("h:5/a@sha256:00") ))', { a: 'sha256:00' }],
    ['text beyond ASCII', '"\u00e4\u{1F600}": (( imports.smile ))', { '\u00e4\u{1F600}': '\u{1F600}' }],
    ['whole and broken numbers', 'a: (( imports.big ))\nb: (( imports.half ))', { a: 1_000_000, b: 0.5 }],
    [
      'keys that JavaScript knows',
      '__proto__: { a: 1 }\nconstructor: 2',
      JSON.parse('{"__proto__":{"a":1},"constructor":2}'),
    ],
    ['nothing', '', null],
  ])('has %s', async (_, template, expected) => {
    expect(JSON.parse(await render(patient, template))).toEqual(expected)
  })

  it('reads files that are no text in base64, and refuses them as text', async () => {
    const files = { 'store.jks': toFileContent(Buffer.from([0xff, 0xfe, 0, 1])) }
    expect(JSON.parse(await render(patient, 'a: (( read("store.jks", "binary") ))', { files }))).toEqual({
      a: '//4AAQ==',
    })
    await expect(render(patient, 'a: (( read("store.jks", "text") ))', { files })).rejects.toThrow(
      'the output: found bytes that are not UTF-8 (the first at 0), expected text',
    )
  })

  it('may be JSON, in which nothing is read as YAML', async () => {
    const template = JSON.stringify({ a: '(( imports.name ))', date: '2020-01-01', yes: 'yes', b: '\u0001"\u{1F600}' })
    const expected = { a: 'app', date: '2020-01-01', yes: 'yes', b: '\u0001"\u{1F600}' }
    expect(JSON.parse(await render(patient, template, { form: 'json' }))).toEqual(expected)
  })

  it.each([
    ['read("/etc/passwd")', 'file does not exist'],
    ['read("../../../../etc/passwd")', 'file does not exist'],
    ['read("http://127.0.0.1:1/")', 'templates have no network'],
    ['read("https://127.0.0.1:1/")', 'templates have no network'],
    ['env("PATH")', "environment variable 'PATH' not set"],
    ['exec("ls")', 'exec: no OS operations supported'],
    ['pipe("data", "cat", "-")', 'pipe: no OS operations supported'],
  ])('cannot %s', async (expression, message) => {
    const rendered = render(patient, `a: (( ${expression} ))`)
    await expect(rendered).rejects.toMatchObject({ code: 'TemplateFailed' })
    await expect(rendered).rejects.toThrow(message)
  })

  it('forgets what it wrote', async () => {
    const written = await render(patient, 'a: (( write("/x", imports.name) ))\nb: (( read("/x") ))')
    expect(JSON.parse(written)).toEqual({ a: 'app', b: 'app' })
    await expect(render(patient, 'b: (( read("/x") ))')).rejects.toThrow('file does not exist')
  })

  it.each([
    ['error(imports.secret)', 'in template\ta\t()\t***'],
    ['imports.secret - 1', 'first argument for substraction must be IP address, CIDR or number'],
    ['imports.secret.field', "'imports.secret.field' not found"],
    ['nofunction(imports.secret)', "unknown function 'nofunction'"],
  ])('names the fault of %s without the value', async (expression, expected) => {
    const failure = await render(patient, `a: (( ${expression} ))`).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(Error)
    const { message } = failure as Error
    expect(message).toContain(expected)
    expect(message).not.toContain(CANARY)
  })
})

describe('a Spiff template that asks for too much', () => {
  const bomb = 'bcdefghijkl'.split('').reduce((text, letter) => {
    const before = String.fromCharCode(letter.charCodeAt(0) - 1)
    return `${text}\n${letter}: &${letter} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`
  }, 'a: &a [x, x]')

  it.each<[string, string, TemplateErrorCode | 'either']>([
    ['loops for ever', 'a: (( sync(1, |x|->false, 1, 100000) ))', 'TemplateTimeout'],
    ['calls itself for ever', 'f: (( &temporary(|x|->_(x + 1)) ))\na: (( .f(1) ))', 'either'],
    ['counts for ever', 'a: (( [1..1000000000] ))', 'either'],
    ['fills memory', 'a: (( sum[[1..40]|"xxxxxxxx"|s,k,v|->s s] ))', 'either'],
    ['prints more than it may', 'a: (( join("", map[[1..5000]|x|->"xxxxxxxx"]) ))', 'TemplateTooLarge'],
    ['works for ever', 'a: (( bcrypt("x", 31) ))', 'TemplateTimeout'],
    ['is a bomb of aliases', bomb, 'either'],
    ['is nested too deeply', `a: ${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'either'],
    ['is an expression without end', `a: (( ${'('.repeat(20_000)}1${')'.repeat(20_000)} ))`, 'either'],
  ])('fails with a code of its own when it %s, and the next render works', async (_, template, code) => {
    const codes = code === 'either' ? ['TemplateTimeout', 'TemplateMemory', 'TemplateFailed'] : [code]
    const failure = await render(hasty, template).catch((error: unknown) => error)
    expect(failure).toMatchObject({ name: 'TemplateError' })
    expect(codes).toContain((failure as { code: string }).code)
    expect(JSON.parse(await render(hasty, 'a: (( imports.name ))'))).toEqual({ a: 'app' })
  })

  it('fails before it is sent when its variables are nested too deeply', async () => {
    let deep: unknown = 'x'
    for (let level = 0; level < 50_000; level++) deep = [deep]
    const rendered = render(hasty, 'a: 1', { binding: { deep } })
    await expect(rendered).rejects.toMatchObject({ code: 'TemplateTooLarge' })
  })
})

async function render(
  engine: typeof patient,
  template: string,
  changes: Partial<TemplateRequest> = {},
): Promise<string> {
  const imports = {
    name: 'app',
    port: 8080,
    big: 1_000_000,
    half: 0.5,
    flag: true,
    list: [
      { name: 'a', n: 1 },
      { name: 'b', n: 2 },
    ],
    map: { k: 'v' },
    smile: '\u{1F600}',
    secret: CANARY,
  }
  const files = { 'data/a.yaml': 'x: 1', 'b.txt': 'text' }
  const { output } = await engine.render({
    engine: 'Spiff',
    name: 'default',
    template,
    binding: { imports },
    files,
    ...changes,
  })
  return output
}
