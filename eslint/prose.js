// ESLint rules for prose and names (../shared/writing.md). `sentences` checks comments and test titles, `names` checks declared identifiers.

/** Starts of sentences that hide the noun. */
const HIDDEN_NOUN = /^(?:What|Who|Whoever|One that|Those that|That which)\b/
/** Passives that hide who reports, receives or requests. */
const HIDDEN_ACTOR = /\b(?:is|are|was|were|be|been|being)(?: (?:not|never|only|also|all))? (?:told|heard|asked)\b/

/** Participles and adverbs that say nothing as a name. */
const REFUSED_NAMES = new Set([
  'told',
  'heard',
  'hearing',
  'judged',
  'met',
  'kept',
  'lasting',
  'stirred',
  'begun',
  'led',
  'brought',
  'misfit',
  'witness',
  'foresee',
  'brand',
  'customer',
])

const TITLES = new Set(['describe', 'it', 'test'])

/** The sentences of a text. A markdown list item and a numbered invariant (`A1.`) start a sentence. */
export function sentencesOf(text) {
  return text
    .replaceAll(/`[^`]*`/g, 'code')
    .split(/(?<=[.:;?!])\s+|\s*\b[A-Z]{1,2}\d+[a-z]?\.\s+|\n\s*\n/)
    .map((sentence) => sentence.replaceAll(/\s+/g, ' ').replace(/^(?:@\w+ |[-*/ ])+/, ''))
    .filter((sentence) => sentence !== '')
}

/** The problem of a sentence, or undefined. */
export function problemOf(sentence) {
  const [start] = HIDDEN_NOUN.exec(sentence) ?? []
  // A question may start with "What" or "Who".
  if (start !== undefined && !sentence.endsWith('?')) return `starts with "${start}": name the thing`
  const [passive] = HIDDEN_ACTOR.exec(sentence) ?? []
  return passive === undefined ? undefined : `contains "${passive}": name the actor`
}

/** Consecutive line comments are one text. */
function commentTexts(comments) {
  const texts = []
  for (const { type, value, loc } of comments) {
    const last = texts.at(-1)
    const isContinued = type === 'Line' && last?.type === 'Line' && last.end === loc.start.line - 1
    const text = type === 'Block' ? value.replaceAll(/^\s*\*/gm, '') : value
    if (isContinued) Object.assign(last, { text: `${last.text}\n${text}`, end: loc.end.line })
    else texts.push({ type, text, loc, end: loc.end.line })
  }
  return texts
}

function rootName(callee) {
  if (callee.type === 'Identifier') return callee.name
  if (callee.type === 'MemberExpression') return rootName(callee.object)
  return callee.type === 'CallExpression' ? rootName(callee.callee) : undefined
}

const sentences = {
  meta: { type: 'suggestion', schema: [] },
  create(context) {
    const report = (text, loc) => {
      for (const sentence of sentencesOf(text)) {
        const problem = problemOf(sentence)
        if (problem !== undefined) context.report({ loc, message: `"${sentence.slice(0, 60)}" ${problem}` })
      }
    }
    return {
      Program() {
        for (const { text, loc } of commentTexts(context.sourceCode.getAllComments())) report(text, loc)
      },
      CallExpression({ callee, arguments: [title] }) {
        if (title?.type === 'Literal' && typeof title.value === 'string' && TITLES.has(rootName(callee)))
          report(title.value, title.loc)
      },
    }
  },
}

const names = {
  meta: { type: 'suggestion', schema: [] },
  create(context) {
    return {
      'Program:exit'(program) {
        const scopes = [context.sourceCode.getScope(program)]
        for (const scope of scopes) {
          scopes.push(...scope.childScopes)
          for (const { name, identifiers } of scope.variables)
            if (REFUSED_NAMES.has(name) && identifiers.length > 0)
              context.report({ node: identifiers[0], message: `"${name}" is no name: use a noun of the field` })
        }
      },
    }
  },
}

export const prose = { rules: { sentences, names } }
