// Texts of servers, decoders and webhooks without the values that they quote, for messages that are kept and shown.

/** `parsing time "<value>"` becomes `parsing time "..."`; names of fields, kinds, users and the like, which are quoted as well, stay. */
export function blankValues(message: string): string {
  return blankQuoted(message).replaceAll(UNQUOTED, '$1 ...')
}

// A quotation that the cut has left open ends with the text.
function blankQuoted(message: string): string {
  return message.replaceAll(QUOTED, (quoted, ...groups) => {
    const { before = '', text = '', after = '' } = groups.at(-1) as { before?: string; text?: string; after?: string }
    const isName = (before !== '' || after !== '') && NAME.test(text)
    return isName ? quoted : `${before}"..."${after}`
  })
}

const QUOTED =
  /(?<before>\b(?:field|version|kind|resource|[Gg]roup|[Uu]ser|namespace|webhook|scope) )?"(?<text>(?:[^"\\]|\\.)*)(?:"|\\?$)(?<after> is forbidden)?/gs
const NAME = /^[\w.:@/[\]-]{0,253}$/

// Numbers, lists and maps, in the words of k8s.io/apimachinery's field errors: up to what is wrong with them.
const UNQUOTED = /\b((?:Invalid|Unsupported|Duplicate) value:) (?!"\.\.\.")(?:(?!: )[^\n])+/g
