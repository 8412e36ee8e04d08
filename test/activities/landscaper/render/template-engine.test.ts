// The template engine: what Go templates and Spiff templates can read and call, their limits, and error messages without values.
// golden.test.ts has a case for each function of both languages.

import { spawnSync } from 'node:child_process'
import { afterAll, describe, expect, it } from 'vitest'
import { MAX_BYTES } from '../../../../activities/landscaper/render/blueprint/blueprint-files.ts'
import { toFileContent, type FileContent } from '../../../../activities/landscaper/render/file-content.ts'
import {
  createTemplateEngine,
  type TemplateEngine,
  type TemplateRequest,
} from '../../../../activities/landscaper/render/engine/template-engine.ts'
import type { TemplateErrorCode } from '../../../../activities/landscaper/render/render-errors.ts'

const CANARY = 'canary-b3f1'
const STORE = toFileContent(Buffer.from([0xff, 0xfe, 0, 1]))
const BINARY = {
  'store.jks': STORE,
  'bin/store.jks': STORE,
  'latin.tpl': toFileContent(Buffer.from('\xfc{{ .name }}', 'latin1')),
}
const patient = createTemplateEngine()
const hasty = createTemplateEngine({ timeoutMs: 500, outputLimitBytes: 10_000, threads: 1 })

afterAll(async () => {
  await Promise.all([patient.close(), hasty.close()])
})

describe('the template engine', () => {
  it.each([
    ['numbers as Go prints them', '{{ .port }} {{ .big }}', '8080 1e+06'],
    ['missing keys', '{{ .nothing }}', '<no value>'],
    ['references without tag', '{{ ociRefRepo "host:50/a" }}/{{ ociRefVersion "host:50/a" }}', 'host:50/a/'],
    ['text beyond ASCII', '{{ .smile }} <b>&</b>', '\u{1F600} <b>&</b>'],
  ])('renders %s', async (_, template, expected) => {
    expect(await render(patient, template)).toEqual({ output: expected })
  })

  it.each(['env "HOME"', 'expandenv "$HOME"', 'getHostByName "localhost"'])('does not know %s', async (action) => {
    await expect(render(patient, `{{ ${action} }}`)).rejects.toMatchObject({
      code: 'TemplateFailed',
      message: `template: default:1: function "${action.split(' ')[0] ?? ''}" not defined`,
    })
  })

  it.each([
    ['in base64', '{{ readFile "store.jks" | toString | b64enc }}', '//4AAQ=='],
    ['as they are counted', '{{ len (readFile "store.jks") }} {{ (index (readDir "bin") 0).Size }}', '4 4'],
    ['in a partial', '{{ include "latin.tpl" . | b64enc }}', '/HBhd2w='],
  ])('reads the bytes of binary files %s', async (_, template, output) => {
    expect(await render(patient, template, { files: BINARY })).toEqual({ output })
  })

  it('renders a template whose only non-UTF-8 bytes are in a comment', async () => {
    const template = toFileContent(Buffer.from('{{/* f\xfcr */}}{{ .name }}', 'latin1'))
    expect(await render(patient, template)).toEqual({ output: 'pawl' })
  })

  it.each(['{{ readFile "store.jks" | toString }}', '{{ include "store.jks" . }}', '{{ trunc 1 "\u00e4" }}'])(
    'refuses an output with bytes that are not UTF-8: %s',
    async (template) => {
      await expect(render(patient, `name: ${template}`, { files: BINARY })).rejects.toMatchObject({
        code: 'TemplateFailed',
        message:
          'the output of template default: found bytes that are not UTF-8 (the first at 6), expected text, e.g. by b64enc',
      })
    },
  )

  it('accepts binary files up to the size of a blueprint', async () => {
    const files = { large: toFileContent(Buffer.alloc(MAX_BYTES, 0xff)) }
    expect(await render(patient, '{{ len (readFile "large") }}', { files })).toEqual({ output: String(MAX_BYTES) })
  })

  it('renders more requests at once than it has threads', async () => {
    const outputs = await Promise.all(
      Array.from({ length: 20 }, (_, index) => render(hasty, '{{ .n }}', { binding: { n: index } })),
    )
    expect(outputs).toEqual(Array.from({ length: 20 }, (_, index) => ({ output: String(index) })))
  })

  it('does not keep a process alive that never closes the engine', () => {
    const engine = new URL('../../../../activities/landscaper/render/engine/template-engine.ts', import.meta.url).href
    const program = `import { createTemplateEngine } from '${engine}'
      const request = { engine: 'GoTemplate', name: 'a', template: '{{ upper "done" }}', binding: {}, files: {} }
      console.log((await createTemplateEngine().render(request)).output)`
    const args = ['--input-type=module', '-e', program]
    const ended = spawnSync(process.execPath, args, { timeout: 10_000, encoding: 'utf8' })
    expect(ended).toMatchObject({ status: 0, stdout: 'DONE\n', stderr: '' })
  })

  it('refuses renders after it was closed', async () => {
    const engine = createTemplateEngine({ threads: 1 })
    await engine.close()
    await expect(render(engine, 'x')).rejects.toThrow('template engine: found closed; expected open')
  })

  it('fails the renders in flight when it is closed', async () => {
    const engine = createTemplateEngine({ threads: 1 })
    await render(engine, 'x')
    const endless = render(engine, '{{ range 9223372036854775807 }}{{ end }}')
    const failure = expect(endless).rejects.toMatchObject({ code: 'TemplateCrashed' })
    // One turn of the event loop, in which the request reaches its thread.
    await new Promise(setImmediate)
    await engine.close()
    await failure
  })
})

describe('a template that exceeds a limit', () => {
  const grow = '{{ $l := list }}{{ range 9223372036854775807 }}{{ $l = append $l (repeat 1000000 "x") }}{{ end }}'

  it.each<[string, string, TemplateErrorCode]>([
    ['loops for ever', '{{ range 9223372036854775807 }}{{ end }}', 'TemplateTimeout'],
    ['prints for ever', '{{ range 9223372036854775807 }}xxxxxxxx{{ end }}', 'TemplateTooLarge'],
    ['prints for ever in a partial', '{{ include "endless.tpl" . }}', 'TemplateTooLarge'],
    ['allocates one large piece of memory', '{{ repeat 1000000000 "x" }}', 'TemplateMemory'],
  ])('fails with the code of the limit when it %s, and the next render works', async (_, template, code) => {
    const files = { 'endless.tpl': '{{ range 9223372036854775807 }}xxxxxxxx{{ end }}' }
    await expect(render(hasty, template, { files })).rejects.toMatchObject({ name: 'TemplateError', code })
    expect(await render(hasty, 'next')).toEqual({ output: 'next' })
  })

  it('fails when it fills the memory step by step, and the next render works', async () => {
    await expect(render(patient, grow)).rejects.toMatchObject({ code: 'TemplateMemory' })
    expect(await render(patient, 'next')).toEqual({ output: 'next' })
  })

  it('fails before the engine sends it to a thread when its binding is too large', async () => {
    const engine = createTemplateEngine({ requestLimitBytes: 1000 })
    const rendered = render(engine, 'x', { binding: { text: 'y'.repeat(2000) } })
    await expect(rendered).rejects.toMatchObject({ code: 'TemplateTooLarge' })
  })
})

describe('the message of a template that failed', () => {
  // executions.test.ts has more templates that could reveal values.
  it.each([
    ['{{ fail (printf "bad password %s here" .secret) }}', 'error calling fail: bad password *** here'],
    ['{{ mustToDate "2006-01-02" .secret }}', 'error calling mustToDate: parsing time *** as "2006-01-02"'],
    ['{{ include .secret . }}', 'error calling include: file *** not found in the blueprint'],
    ['{{ fail (.secret | b64enc) }}', 'error calling fail: ***'],
  ])('names the error of %s without the value', async (template, expected) => {
    await expect(render(patient, template)).rejects.toThrow(expected)
  })

  it.each([
    ['error(imports.secret)', 'in template\ta\t()\t***'],
    ['imports.secret - 1', 'first argument for substraction must be IP address, CIDR or number'],
    ['nofunction(imports.secret)', "unknown function 'nofunction'"],
  ])('names the fault of the Spiff expression %s without the value', async (expression, expected) => {
    await expect(spiff(patient, `a: (( ${expression} ))`)).rejects.toThrow(expected)
  })
})

describe('a Spiff template', () => {
  it.each<[string, string, unknown]>([
    ['a document that is one expression', '"(( imports.name ))"', 'app'],
    ['merges', 'a:\n  <<: (( imports.map ))\n  own: 1', { a: { k: 'v', own: 1 } }],
    ['references within the document', 'a: { b: 1 }\nc: (( a.b ))', { a: { b: 1 }, c: 1 }],
    ['templates', 't:\n  <<: (( &temporary &template ))\n  id: (( imports.name ))\na: (( *t ))', { a: { id: 'app' } }],
    ['lists of files', 'a: (( list_files("data") ))', { a: ['a.yaml'] }],
    ['text beyond ASCII', '"\u00e4\u{1F600}": (( imports.smile ))', { '\u00e4\u{1F600}': '\u{1F600}' }],
    ['whole and broken numbers', 'a: (( imports.big ))\nb: (( imports.half ))', { a: 1_000_000, b: 0.5 }],
    [
      'keys that JavaScript knows',
      '__proto__: { a: 1 }\nconstructor: 2',
      JSON.parse('{"__proto__":{"a":1},"constructor":2}'),
    ],
    ['nothing', '', null],
  ])('has %s', async (_, template, expected) => {
    expect(await spiff(patient, template)).toEqual(expected)
  })

  it('reads files that are no text in base64, and refuses them as text', async () => {
    const files = { 'store.jks': STORE }
    expect(await spiff(patient, 'a: (( read("store.jks", "binary") ))', { files })).toEqual({ a: '//4AAQ==' })
    await expect(spiff(patient, 'a: (( read("store.jks", "text") ))', { files })).rejects.toThrow(
      'the output: found bytes that are not UTF-8 (the first at 0), expected text',
    )
  })

  it('may be JSON, in which nothing is read as YAML', async () => {
    const template = JSON.stringify({ a: '(( imports.name ))', date: '2020-01-01', yes: 'yes', b: '\u0001"\u{1F600}' })
    const expected = { a: 'app', date: '2020-01-01', yes: 'yes', b: '\u0001"\u{1F600}' }
    expect(await spiff(patient, template, { form: 'json' })).toEqual(expected)
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
    const rendered = spiff(patient, `a: (( ${expression} ))`)
    await expect(rendered).rejects.toMatchObject({ code: 'TemplateFailed' })
    await expect(rendered).rejects.toThrow(message)
  })

  it('forgets what it wrote', async () => {
    expect(await spiff(patient, 'a: (( write("/x", imports.name) ))\nb: (( read("/x") ))')).toEqual({
      a: 'app',
      b: 'app',
    })
    await expect(spiff(patient, 'b: (( read("/x") ))')).rejects.toThrow('file does not exist')
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
    const failure = await spiff(hasty, template).catch((error: unknown) => error)
    expect(failure).toMatchObject({ name: 'TemplateError' })
    expect(codes).toContain((failure as { code: string }).code)
    expect(await spiff(hasty, 'a: (( imports.name ))')).toEqual({ a: 'app' })
  })

  it('fails before it is sent when its variables are nested too deeply', async () => {
    let deep: unknown = 'x'
    for (let level = 0; level < 50_000; level++) deep = [deep]
    const rendered = spiff(hasty, 'a: 1', { binding: { deep } })
    await expect(rendered).rejects.toMatchObject({ code: 'TemplateTooLarge' })
  })
})

const BINDING = {
  name: 'pawl',
  port: 8080,
  big: 1_000_000,
  nested: { big: 1_000_000, list: ['yes', null] },
  smile: '\u{1F600}',
  secret: CANARY,
}
const FILES = { 'data/a.txt': 'A', 'data/sub/b.txt': 'BB', 'partial.tpl': 'partial {{ .big }}' }

function render(engine: TemplateEngine, template: FileContent, changes: Partial<TemplateRequest> = {}) {
  return engine.render({ engine: 'GoTemplate', name: 'default', template, binding: BINDING, files: FILES, ...changes })
}

async function spiff(
  engine: TemplateEngine,
  template: string,
  changes: Partial<TemplateRequest> = {},
): Promise<unknown> {
  const imports = { ...BINDING, name: 'app', half: 0.5, map: { k: 'v' } }
  const files = { 'data/a.yaml': 'x: 1', 'b.txt': 'text' }
  const { output } = await render(engine, template, { engine: 'Spiff', binding: { imports }, files, ...changes })
  return JSON.parse(output)
}
