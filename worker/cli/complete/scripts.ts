// What shells run to complete the command line of `pawl`. All ask `pawl __complete` with the words so far.

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export type Shell = (typeof SHELLS)[number]

// Bash takes `=` and `:` for ends of words, so the words are those of the line, and of what is found that part goes which Bash has before its word.
const BASH = `_pawl() {
  local line=\${COMP_LINE:0:COMP_POINT} own=\${COMP_WORDS[COMP_CWORD]} IFS=$' \\t\\n' words=() current
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current=\${words[\${#words[@]}-1]}
  [[ $own == [=:] ]] && own=''
  IFS=$'\\n'
  COMPREPLY=($(pawl __complete -- "\${words[@]:1}" 2>/dev/null))
  COMPREPLY=("\${COMPREPLY[@]#"\${current%"$own"}"}")
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -F _pawl pawl kubectl-pawl
`

// Its last lines: found in a folder of functions it is run as the function, sourced it is not.
const ZSH = `#compdef pawl kubectl-pawl
_pawl() {
  local -a found
  found=(\${(f)"$(pawl __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)"})
  (( $#found )) || { _files; return }
  compadd -- \${found:#*/}
  compadd -S '' -- \${(M)found:#*/}
}
if [[ $funcstack[1] == _pawl ]]; then
  _pawl "$@"
else
  compdef _pawl pawl kubectl-pawl
fi
`

const FISH = `function __pawl_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct | string trim --left --chars '"\\'')
  set -l found (pawl __complete -- $before[2..-1] "$current" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c pawl -f -a '(__pawl_complete)'
complete -c kubectl-pawl -f -a '(__pawl_complete)'
`

export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH }
