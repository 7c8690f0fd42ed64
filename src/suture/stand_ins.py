"""Which results are only stand-ins: they fill in for one that is not there.

Only consulted when two results claim one call, so that a real one which reads like a stand-in is never lost where it
stands alone. The texts are those by which frameworks, coding tools and people fill in.
"""

from __future__ import annotations

import re

from suture.messages import Text, ToolResult

# A stand-in names what it stands for, or says nothing but why. Results begin so too, as in `Cancelled order 42`, so what
# follows holds no number, unless it is a time, or the text is our own.
_STAND_IN = re.compile(
    r"""
    ^\W*(?:[\w-]+\]\W+)?(?:error\W+)?                                        # `[openclaw] `, `Error: `
    (?:
        this\ call\ (?:was\ not\ run|did\ not\ finish|was\ started,|ran,).*             # ours
      | (?:the\ |this\ |previous\ |your\ )*
        (?:(?:tool|function)(?:['\ ]s)?\ )?(?:call|use|execution|run|result|response|output|tool|function)
        (?:\ ['"`]?[\w.-]+['"`]?)??(?:\ with\ id\ \S+)?
        (?:\ was|\ is|\ has\ been|\ got)?
        (?:
            [/\ ](?:interrupted|aborted|cancell?ed|skipped)\b                 # Riffer, Codex, Strands, deepagents
          | (?<=result|sponse)\ (?:missing|lost|unavailable|not\ (?:available|recorded))\b       # qwen-code
          | \ not\ (?:run|executed|completed|finished)\b                      # turnsafe, Mistri, Pydantic AI
          | \ did\ not\ (?:run|complete|finish|return)\b
          | \ (?:rejected|declined|denied)\ by\ (?:the\ )?(?:user|human|operator|reviewer|policy)\b
        )
        (?!\ because\b|\ after\ \w+ing\b)\D*
      | request\ interrupted\ by\ user(?:\ for\ tool\ use)?\W*                # Claude Code
      | (?:missing|synthetic)\ (?:error\ )?(?:tool\ )?(?:result|output)\b\D*   # openclaw
      | no\ tool\ (?:result|output)\b\D*
      | (?:
            (?:was\ )?(?:interrupted|aborted|cancell?ed|skipped)(?:/\w+)?
          | (?:was\ )?(?:rejected|declined|denied)(?=\ by\ (?:the\ )?(?:user|human|operator|reviewer|policy)\b)
          | (?:was\ )?(?:not|never)\ (?:run|executed|completed|finished)
          | did\ not\ (?:run|complete|finish|return)
          | no\ result(?:\ (?:was\ )?(?:provided|available|recorded|returned|received|produced))?  # pi, Roo
        )
        (?:\W+by\ (?:the\ )?\w+)?
        (?:\W+(?:interrupted|aborted|cancell?ed|lost|because|before|during|due\ to|since|as|or\ its)\b[^,;\d\n]{0,120}
          |\W+after\ [\d.]+\ ?(?:m?s|sec(?:ond)?s?|min(?:ute)?s?)\b
          |\ for\ (?:this|the|that)\b[^,;\d\n]{0,80}|\ for\ tool\ call\ \S+
          |\ \((?=[^()]*(?:repair|interrupt|abort|restart|time|history|cancel|user))[^()\d\n]{0,80}\)
        )?\W*
    )$
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_LONGEST = 300


def is_stand_in(result: ToolResult) -> bool:
    """Whether the result only says that there is none: marked as synthetic, or worded like a stand-in."""
    if result.synthetic is not None:
        return result.synthetic != "denied"
    parts = result.parts
    if len(parts) != 1 or type(parts[0]) is not Text:
        return False
    text = parts[0].text
    return len(text) <= _LONGEST and _STAND_IN.match(text) is not None
