import { Command } from 'commander'
import { describe, expect, it } from 'vitest'

import { SCRIPTS, SHELLS } from '../../../../worker/cli/completion.ts'
import { withoutQuoting, commandShape, candidatesFor } from '../../../../worker/cli/complete/candidates.ts'
import { getCommand } from '../../../../worker/cli/query/get.ts'
import { whyCommand } from '../../../../worker/cli/query/why.ts'
import { retryCommand } from '../../../../worker/cli/steer/items.ts'
import { wingCommand } from '../../../../worker/cli/wing-commands.ts'

const KINDS = ['di', 'exec', 'inst']
const why = (...words: readonly string[]) => candidatesFor(commandShape(whyCommand()), words, KINDS)

describe('completion', () => {
  it.each([
    [[''], ['di/', 'exec/', 'inst/']],
    [['in'], ['inst/']],
    [['--o'], ['--output']],
    [
      ['-o', ''],
      ['text', 'wide', 'json'],
    ],
    [['--output', 'j'], ['json']],
    [['--output=j'], ['--output=json']],
    [['--output='], ['--output=text', '--output=wide', '--output=json']],
    [['--namespace='], []],
    [['-n', ''], []],
    [['inst/shop', ''], []],
    [['-n', 'team-a', 'e'], ['exec/']],
  ])('of %j gives %j', (words, expected) => {
    expect(why(...words).words).toEqual(expected)
  })

  it.each([
    [['inst/'], { kind: 'inst', prefix: 'inst/' }],
    [['inst/sh'], { kind: 'inst', prefix: 'inst/' }],
    [['inst', ''], { kind: 'inst', prefix: '' }],
    [['inst', 'shop', ''], undefined],
  ])('of %j requests object names: %j', (words, expected) => {
    expect(why(...words).objects).toEqual(expected)
  })

  it.each([
    [['inst/shop', ''], { object: ['inst/shop'], command: 'retry', exclude: [] }],
    [['inst', 'shop', 'd'], { object: ['inst', 'shop'], command: 'retry', exclude: [] }],
    [['-n', 'x', 'inst/shop', 'db', 'w'], { object: ['inst/shop'], command: 'retry', exclude: ['db'] }],
    [['inst', ''], undefined],
    [['inst/'], undefined],
  ])('of %j requests item names: %j', (words, expected) => {
    expect(candidatesFor(commandShape(retryCommand()), words, KINDS).items).toEqual(expected)
    expect(why(...words).items).toBeUndefined()
  })

  it.each([
    ['analyze', [''], { kind: 'fdb', prefix: '' }],
    ['analyze', ['sample', ''], undefined],
    ['restart', ['-c', ''], { kind: 'fdb', prefix: '' }],
    ['restart', [''], undefined],
  ])('of the command %s of a wing with %j requests object names: %j', (name, words, expected) => {
    const command = wingCommand('fdb')?.commands.find((one) => one.name() === name)
    expect(candidatesFor(commandShape(command!), words, KINDS).objects).toEqual(expected)
  })

  it('reads the flags before the cursor by their long names', () => {
    expect(why('-n', 'team-a', '--cluster=c', 'inst/').flags).toEqual({ '--namespace': 'team-a', '--cluster': 'c' })
  })

  it('gives kinds for commands with a kind, and subcommands for commands that have them', () => {
    expect(candidatesFor(commandShape(getCommand()), [''], KINDS).words).toEqual(KINDS)
    const group = new Command('dev').addCommand(new Command('stop')).addCommand(new Command('status'))
    expect(candidatesFor(commandShape(group), ['sto'], KINDS).words).toEqual(['stop'])
  })

  it('gives no words that a shell would expand', () => {
    expect(withoutQuoting(['b', 'a', 'b', '$(x)', 'a b', '*', 'x;y', 'inst/shop'])).toEqual(['a', 'b', 'inst/shop'])
  })
})

describe('a completion script', () => {
  it.each(SHELLS)('for %s calls pawl __complete', (shell) => {
    expect(SCRIPTS[shell]).toContain('pawl __complete -- ')
  })
})
