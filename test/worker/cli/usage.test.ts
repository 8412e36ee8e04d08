import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

import { runCommand } from '../../support/pawl/run-command.ts'

const PAWL = fileURLToPath(new URL('../../../worker/pawl.js', import.meta.url))

describe('the command pawl', { timeout: 60_000 }, () => {
  it.each([
    [['dev', '--foo'], 'option "--foo" of "pawl dev" does not exist; see pawl dev --help-all\n'],
    [['dev', '--wing', 'x'], 'option "--wing" of "pawl dev" does not exist; did you mean "--wings"?\n'],
    [['foo'], 'command "foo" of "pawl" does not exist; see pawl --help\n'],
    [['reconcil', 'inst/shop'], 'command "reconcil" of "pawl" does not exist; did you mean "reconcile"?\n'],
    [['recon', 'inst/shop'], 'command "recon" of "pawl" does not exist; did you mean "reconcile"?\n'],
    [['dev', '--etcd-port', 'x'], 'pawl dev: --etcd-port: found "x"; expected a port from 1 to 65535\n'],
    [['dev', 'status', '-o', 'yaml'], 'pawl dev status: --output: found "yaml"; expected one of text, json\n'],
    [['dev', 'status', '--data-dir'], "option '--data-dir <dir>' argument missing"],
    [['bridge', '--foo'], 'option "--foo" of "pawl bridge" does not exist; see pawl bridge --help-all'],
    [['chaos', 'sotp'], 'command "sotp" of "pawl chaos" does not exist; did you mean "stop"?'],
    [
      ['fdb', 'remove', 'storage-1'],
      'command "storage-1" of "pawl fdb remove" does not exist; expected process-groups; see pawl fdb remove --help',
    ],
    [['fdb', 'connection-string', 'update'], "missing required argument 'connection-string'"],
    [['chaos', 'stop', '-n', 'shop', '--all'], "option '--all' cannot be used with option '-n, --namespace <name>'"],
    [['chaos', 'stop', '--reason', ' '], '--reason: found 0 characters; expected one line of 1 to 256'],
    [
      ['migrate', 'up', '--data-dir', '/nonexistent/pawl'],
      'run the export lines that pawl dev printed, or pass --data-dir or --database-url',
    ],
    [
      ['get', '--data-dir', '/nonexistent/pawl'],
      'no journal: no pawl dev runs for /nonexistent/pawl; run the export lines that pawl dev printed, or pass --data-dir, --database-url or --api-url',
    ],
    [['get', '-o', 'xml'], 'pawl get: --output: found "xml"; expected one of table, wide, json, yaml, name'],
    [
      ['get', '-n', 'a', '--kubeconfig', '/nonexistent/config'],
      '--kubeconfig: file "/nonexistent/config" cannot be read (ENOENT)',
    ],
    [['why'], "pawl why: missing required argument 'object'; see pawl why --help"],
    [['plan', 'show', 'exec', '--format', 'svg'], '--format: found "svg"; expected one of text, mermaid, json'],
    [['plan', 'show', 'nothing'], "kind 'nothing': found no plan"],
    [['plan', 'show'], 'plan show: no kind and no --trace; give one of them'],
    [['plan', 'show', 'inst', '--trace', 'x'], 'plan show: a kind and --trace; give one of them'],
  ])('ends %j with exit code 2 and an error with the expected arguments', async (args, message) => {
    const { code, stdout, stderr } = await runCommand(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^pawl: /)
    expect(stderr).toContain(message)
  })

  it.each([
    [['bridge'], '--database-url is missing'],
    [['worker', '--database-url', 'x', '--temporal-address', 'y', '--sweep-ms', '1'], '--sweep-ms: found "1"'],
  ])('ends the process of %j with exit code 2', (args, message) => {
    const { status, stdout, stderr } = pawl(args)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  it('does not print the password of a journal that does not answer', async () => {
    const answer = await runCommand('get', '--database-url', 'postgresql://u:geheim@127.0.0.1:1/j')
    expect(answer).toMatchObject({ code: 1, stdout: '' })
    expect(answer.stderr).toContain('the journal at 127.0.0.1:1 does not answer')
    expect(answer.stderr).not.toContain('geheim')
  })

  it('prints version and help with exit code 0', async () => {
    expect(pawl(['--version'])).toMatchObject({ status: 0, stderr: '' })
    expect((await runCommand('dev', '--help')).stdout).toContain('--ephemeral')
    expect((await runCommand('bridge', '--help')).stdout).toContain('--retention-days <days>')
    expect(pawl(['worker', '--help-all']).stdout).toContain('--dispatch-slots <count>')
  })

  it('writes all output to a pipe that is read slowly', () => {
    const word = 'x'.repeat(120_000)
    // The reader takes one byte, then pauses.
    const slow = `(head -c 1; exec "$0" -e 'process.stdin.pipe(process.stdout)')`
    const { stdout } = spawnSync('sh', ['-c', `"$0" "$@" 2>&1 | ${slow}`, process.execPath, PAWL, word], {
      encoding: 'utf8',
    })
    expect(stdout).toMatch(/^pawl: command "x{120000}" of "pawl" does not exist; see pawl --help\n$/)
  })

  it('prints the warnings of Node except for experimental features', () => {
    const script = `process.on('exit', () => ['ExperimentalWarning', 'Warning'].forEach((name) =>
      process.emit('warning', Object.assign(new Error('found'), { name }))))`
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` }
    const { stderr } = pawl(['--version'], env)
    expect(stderr.match(/\w+: found/g)).toEqual(['Warning: found'])
  })

  it('reports with exit code 1 that nothing runs', async () => {
    const dir = '/nonexistent/pawl'
    const status = await runCommand('dev', 'status', '--data-dir', dir)
    expect(status).toMatchObject({ code: 1, stdout: `no pawl dev runs for ${dir}\n` })
    const json = await runCommand('dev', 'status', '--data-dir', dir, '-o', 'json')
    expect(JSON.parse(json.stdout)).toMatchObject({ up: false, dataDir: dir, parts: [] })
  })
})

function pawl(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, PAWL_DATABASE_URL: '', ...more }
  const { status, stdout, stderr } = spawnSync(process.execPath, [PAWL, ...args], { encoding: 'utf8', env })
  return { status, stdout, stderr }
}
